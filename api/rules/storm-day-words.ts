/** Definition of a storm date in a sentence, by the UTC hour at which it begins. */
export function stormDayInWords(start_hour: number): string {
  if (start_hour === 0) return 'A storm date is a UTC calendar day; all times are UTC.';
  const hour = `${String(start_hour).padStart(2, '0')}:00 UTC`;
  return `A storm date runs from ${hour} to ${hour} of the next day and is named by its beginning; all times are UTC.`;
}

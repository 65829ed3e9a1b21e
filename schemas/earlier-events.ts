/** Every event type of the earlier variant of the interface, and when it is sent. */
export const EARLIER_EVENTS = {
  'hail.detected': 'hail of 19 mm or more has been detected in the circle',
  'hail.cleared': 'no such hail was detected for half an hour',
  'alert.created': 'hail of the size that a subscription asks for has been detected',
  'alert.resolved': 'the threat has cleared',
  'risk.changed': 'the risk score of a place changed by more than 10 points',
} as const;
export type EarlierEventType = keyof typeof EARLIER_EVENTS;
export const EARLIER_EVENT_TYPES = Object.keys(EARLIER_EVENTS) as [EarlierEventType, ...EarlierEventType[]];

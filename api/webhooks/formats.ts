import type { Selectable, Transaction } from 'kysely';
import type { AnyEventType } from '../../schemas/webhook-events.ts';
import type { Database, ReceiverFormat } from '../records/schema.ts';
import type { FailedAttempt } from '../rules/webhook-retry.ts';
import type { Outbox } from './events.ts';
import type { Receiver } from './receivers.ts';

export type Alert = Selectable<Database['alerts']>;

/** An event before it is encoded. */
export interface PlainEvent {
  /** `evt_…`, another for every receiver. */
  readonly id: string;
  readonly event: AnyEventType;
  /** Epoch milliseconds of the data clock. */
  readonly at_ms: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Begin or end of an alert, and where its events are written. */
export interface AlertStep {
  readonly alert: Alert;
  readonly step: 'begins' | 'ends';
  /** Data clock, epoch milliseconds. */
  readonly now_ms: number;
  /** Active receivers of the format that take an event: the subscription itself, then webhooks of its business by id. */
  readonly receiversOf: (event: AnyEventType) => readonly string[];
}

/** The events that receivers of one format are sent: their types and bytes, and the rules for retries and alerts. */
export interface EventFormat {
  readonly name: ReceiverFormat;
  /** Types that its receivers may subscribe to. */
  readonly types: readonly AnyEventType[];
  /** An example of `data` for each of its types. */
  readonly samples: Readonly<Partial<Record<AnyEventType, object>>>;
  readonly encode: (event: PlainEvent) => string;
  /** The bytes of an encoded event under another id. */
  readonly withId: (body: string, id: string) => string;
  /** Milliseconds until a failed attempt is repeated; null: it is not. */
  readonly retryWait: (failed: FailedAttempt, time_scale?: number) => number | null;
  /** It reports any hail over a subscription as well, which is then watched twice. */
  readonly any_hail: boolean;
  /** Writes the events of an alert's begin or end. */
  readonly enqueueAlert: (rows: Transaction<Database>, outbox: Outbox, step: AlertStep) => Promise<void>;
  /** The events of an alert so far: its begin, then its end; empty where it has none in this format. */
  readonly stepsOf: (alert: Alert) => readonly {
    readonly event: AnyEventType;
    readonly data: Readonly<Record<string, unknown>>;
    /** As `happened_ms` of an event that is enqueued. */
    readonly happened_ms: number;
  }[];
  /** Alerts with the same value share one order of their events. */
  readonly ordered_by: 'id' | 'location_id';
}

/** The formats of a service by name. */
export type EventFormats = ReadonlyMap<ReceiverFormat, EventFormat>;

/** The format of a receiver. Throws when the service was opened without it. */
export function formatOf(formats: EventFormats, { format }: Pick<Receiver, 'format'>): EventFormat {
  const found = formats.get(format);
  if (found === undefined) throw new TypeError(`event format ${format}: expected one of ${[...formats.keys()].join()}`);
  return found;
}

/** Sets the format of a new webhook or subscription. */
export async function setReceiverFormat(
  rows: Transaction<Database>,
  receiver_id: string,
  format: ReceiverFormat,
): Promise<void> {
  for (const table of ['webhooks', 'subscriptions'] as const)
    await rows.updateTable(table).set({ format }).where('id', '=', receiver_id).execute();
}

/** The head of an answer of the API. */
export interface TracedHead {
	at: number;
	status: number;
	headers: [string, string][];
}

const MOST_EVENTS = 3_000;

/** What went between this tab and the API for one answer, for the inspector. `events` grows; `count` follows it. */
export class AnswerTrace {
	count = $state(0);
	heads: TracedHead[] = $state.raw([]);
	readonly events: { at: number; data: Record<string, unknown> }[] = [];
	/** Events that came when there were too many. */
	dropped = 0;

	constructor(
		/** The body of the request; null where another page has sent it. */
		readonly body: string | null
	) {}

	addHead(response: Response): void {
		this.heads = [...this.heads, { at: Date.now(), status: response.status, headers: [...response.headers] }];
	}

	addEvent(data: Record<string, unknown>): void {
		if (this.events.length < MOST_EVENTS) this.events.push({ at: Date.now(), data });
		else this.dropped += 1;
	}

	/** Let components see what was added. */
	publish(): void {
		this.count = this.events.length;
	}
}

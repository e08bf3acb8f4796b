import type { Connection, LiveState, PromptProgress, QueuePlace } from '$lib/services/chat/live_state';

export type { Connection, LiveState, PromptProgress, QueuePlace };

/** What is known of an answer only while it runs (`LiveState` has the meanings), each field followed alone. */
export class LiveAnswer implements LiveState {
	connection: Connection = $state('connecting');
	place: QueuePlace | null = $state.raw(null);
	progress: PromptProgress | null = $state.raw(null);
	tokens = $state(0);
	tokensPerSecond: number | null = $state(null);
	isStopping = $state(false);
	work: LiveState['work'] = $state.raw(null);
	preview: Blob | null = $state.raw(null);

	/** The values now, for another tab. */
	get values(): LiveState {
		const { connection, place, progress, tokens, tokensPerSecond, isStopping, work, preview } = this;
		return { connection, place, progress, tokens, tokensPerSecond, isStopping, work, preview };
	}

	/** Take the values of the tab that reads the answer. */
	follow(values: LiveState): void {
		Object.assign(this, values, { connection: values.connection === 'open' ? 'elsewhere' : values.connection });
	}
}

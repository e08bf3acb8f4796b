import type { StreamEvent } from '$lib/api/stream';
import { followFeed } from '$lib/services/feed_connection';
import { afterEvent, beginning, EMPTY, type FeedState } from '$lib/services/feed_events';
import { asLeader, otherTabs } from '$lib/services/leader';
import { session } from '$lib/stores/session.svelte';

type Status = 'loading' | 'live' | 'stale' | 'refused';

/** What the tab that follows the feed sends to the others. */
type Message =
	| { kind: 'asks' }
	| { kind: 'restart' }
	| { kind: 'began' }
	| { kind: 'event'; event: StreamEvent }
	| { kind: 'status'; status: Status; staleSince: Date | undefined }
	| { kind: 'all'; state: FeedState; status: Status; staleSince: Date | undefined };

/**
 * What the feed of the API reports: one connection per browser. The tab that has the lock follows it and sends what it
 * receives to the others, which ask for the whole state when they begin. When that tab ends, another one continues after the
 * last change that it knows. `stale`: the feed is lost since `staleSince`; `refused`: the session may not read it.
 */
class FeedStore {
	#all: FeedState = $state.raw(EMPTY);
	state: Status = $state('loading');
	staleSince: Date | undefined = $state();
	#tabs: BroadcastChannel | undefined;
	#leads = false;
	/** When the state was last known to be true. */
	#trueAt: Date | undefined;
	#stop: AbortController | undefined;

	get models() {
		return this.#all.models;
	}
	get memory() {
		return this.#all.memory;
	}
	get operations() {
		return this.#all.operations;
	}
	get changes() {
		return this.#all.changes;
	}
	/** Undefined until the whole state has come. */
	get value(): FeedState | undefined {
		return this.#all.memory && this.#all;
	}

	/** Follow the feed until `pause`. */
	resume(): void {
		if (this.#stop) return;
		const stop = (this.#stop = new AbortController());
		if (this.value) this.#setStatus('stale'); // until the connection is there
		this.#tabs = otherTabs();
		this.#tabs?.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#accept(data));
		this.#send({ kind: 'asks' });
		void asLeader(() => this.#lead(stop.signal), stop.signal);
	}

	pause(): void {
		this.#stop?.abort();
		this.#leads = false;
		this.#tabs?.close();
		this.#stop = this.#tabs = undefined;
	}

	/** Begin again in all tabs, after a sign-in. */
	restart(): void {
		const tabs = this.#tabs ?? otherTabs();
		tabs?.postMessage({ kind: 'restart' } satisfies Message);
		if (tabs !== this.#tabs) tabs?.close();
		this.#restart();
	}

	#restart(): void {
		if (!this.#stop) return;
		this.pause();
		this.state = 'loading';
		this.resume();
	}

	async #lead(signal: AbortSignal): Promise<void> {
		this.#leads = true;
		await followFeed(
			{
				began: () => {
					this.#accept({ kind: 'began' });
					this.#send({ kind: 'began' });
				},
				received: (event) => {
					this.#accept({ kind: 'event', event });
					this.#send({ kind: 'event', event });
				},
				alive: () => {
					this.#trueAt = new Date();
				},
				lost: () => this.#setStatus(this.value ? 'stale' : this.state),
				after: () => this.#all.after
			},
			signal
		);
		if (!signal.aborted) {
			this.#setStatus('refused');
			void session.read(); // its time may be over
		}
		// the lock is kept while there is nothing to follow, so that no other tab is refused as well
		await new Promise<void>((resolve) => {
			if (signal.aborted) resolve();
			signal.addEventListener('abort', () => resolve());
		});
	}

	#setStatus(status: Status): void {
		const staleSince = status === 'stale' ? (this.staleSince ?? this.#trueAt ?? new Date()) : undefined;
		if (status === this.state && staleSince?.getTime() === this.staleSince?.getTime()) return;
		this.state = status;
		this.staleSince = staleSince;
		this.#send({ kind: 'status', status, staleSince });
	}

	#accept(message: Message): void {
		switch (message.kind) {
			case 'asks':
				if (this.#leads) {
					this.#send({ kind: 'all', state: this.#all, status: this.state, staleSince: this.staleSince });
				}
				return;
			case 'restart':
				void session.read(); // somebody has signed in
				this.#restart();
				return;
			case 'began':
				this.#all = beginning(this.#all);
				return;
			case 'event':
				this.#all = afterEvent(this.#all, message.event);
				this.#trueAt = new Date();
				if (this.#leads && this.value) this.#setStatus('live');
				return;
			case 'all':
				this.#all = message.state;
				this.state = message.status;
				this.staleSince = message.staleSince;
				this.#trueAt = new Date();
				return;
			case 'status':
				this.state = message.status;
				this.staleSince = message.staleSince;
		}
	}

	#send(message: Message): void {
		this.#tabs?.postMessage(message);
	}
}

export const feed = new FeedStore();

import type { AnswerMessage, Conversation, Message } from '$lib/chat_types';
import type { LiveState } from '$lib/services/chat/live_state';

/** What the tabs of a browser tell one another. */
export type TabMessage =
	| { kind: 'conversation'; conversation: Conversation }
	| { kind: 'conversations' }
	| { kind: 'removed'; ids: string[] }
	| { kind: 'messages'; conversation: string; messages: Message[] }
	| { kind: 'taken'; conversation: string; ids: string[] }
	/** An answer as the tab that reads it has it; `live` is null once it has ended. */
	| { kind: 'answer'; answer: AnswerMessage; live: LiveState | null; isForeign: boolean }
	| { kind: 'signed-in' };

const NAME = 'stoker-chat';

/** The channel to the other tabs. Where the browser has none, each tab sees the others' changes when it is loaded. */
class Tabs {
	#channel: BroadcastChannel | undefined;
	#followers = new Set<(message: TabMessage) => void>();

	/** Send to all other tabs. */
	tell(message: TabMessage): void {
		this.#open()?.postMessage(message);
	}

	/** Receive what other tabs send. Returns what ends it. */
	follow(follower: (message: TabMessage) => void): () => void {
		this.#open();
		this.#followers.add(follower);
		return () => this.#followers.delete(follower);
	}

	#open(): BroadcastChannel | undefined {
		if (typeof BroadcastChannel === 'undefined') return undefined;
		if (!this.#channel) {
			this.#channel = new BroadcastChannel(NAME);
			this.#channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
				for (const follower of this.#followers) follower(data);
			});
		}
		return this.#channel;
	}
}

export const tabs = new Tabs();

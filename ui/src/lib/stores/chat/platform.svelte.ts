import { untrack } from 'svelte';
import { language } from '$lib/chat_text/language.svelte';
import { ApiProblem, asProblem } from '$lib/services/call';
import { callJson } from '$lib/services/chat/answer_calls';
import type { Quota } from '$lib/services/chat/sync/conversation_calls';
import { mayAskModels, type Session } from '$lib/services/session';
import { readSyncs } from '$lib/storage/sync';
import { session } from '$lib/stores/session.svelte';
import { preferences } from './preferences.svelte';
import { chatStorage } from './storage.svelte';

type Sync = typeof import('./sync/sync').sync;

const POLL_MS = 15_000;
/** Without a conversation on the platform, it is asked again when the page gets the focus, at most so often. */
const IDLE_MS = 60_000;
const CHANGE_MS = 1_000;

/** The tenant whose conversations a session may see, of a person with its id behind it; null: none. */
export function tenantOf(current: Session): string | null {
	if (!current.signed_in || !mayAskModels(current)) return null;
	return [current.tenant ?? '', ...(current.person ? [current.person.id] : [])].join(' ');
}

/**
 * The part of conversations on the platform that each page has: whose they are, when the platform is asked, and the way to the
 * code that exchanges them, which is loaded when there is one.
 */
class Platform {
	/** The result of `tenantOf` whose conversations are shown (empty: of a platform without keys); null: none are. */
	tenant: string | null = $state(null);
	/** What the tenant's conversations take of its quota, as of the last list. */
	quota: Quota | null = $state.raw(null);
	#sync: Promise<Sync> | undefined;
	#askedAt = 0;
	#next: ReturnType<typeof setTimeout> | undefined;
	/** Whether this browser has copies, or moves that were cut. */
	#hasCopies = false;
	#timers = new Map<string, ReturnType<typeof setTimeout>>();

	/** Ask the platform now, when the page gets the focus, and again and again while it is visible. Returns what ends it. */
	start(): () => void {
		const unfollow = $effect.root(() => {
			$effect(() => {
				const current = session.current;
				if (!current) return; // not known: those of the last session stay
				const tenant = tenantOf(current);
				if (tenant === untrack(() => this.tenant)) return;
				this.tenant = tenant;
				this.quota = null;
				void untrack(() => this.look());
			});
		});
		const onFocus = () => {
			const waitMs = this.#askedAt + (this.#isUsed ? CHANGE_MS : IDLE_MS) - Date.now();
			if (document.hidden || (waitMs > 0 && !this.#isUsed)) return;
			clearTimeout(this.#next);
			this.#next = setTimeout(() => void this.look(), Math.max(0, waitMs));
		};
		const timer = setInterval(() => {
			if (!document.hidden && this.#isUsed) void this.look();
		}, POLL_MS);
		addEventListener('focus', onFocus);
		document.addEventListener('visibilitychange', onFocus);
		addEventListener('online', onFocus);
		return () => {
			unfollow();
			clearInterval(timer);
			clearTimeout(this.#next);
			removeEventListener('focus', onFocus);
			document.removeEventListener('visibilitychange', onFocus);
			removeEventListener('online', onFocus);
		};
	}

	get #isUsed(): boolean {
		return this.#sync !== undefined || this.#hasCopies || preferences.newPlace === 'server' || (this.quota?.conversations ?? 0) > 0;
	}

	/** The code that exchanges conversations. Raises `ApiProblem`. */
	sync(): Promise<Sync> {
		this.#sync ??= import('./sync/sync').then(
			({ sync }) => sync,
			() => {
				this.#sync = undefined; // a later call may reach it
				throw new ApiProblem(0, 'unreachable', language.text.common.unreachable);
			}
		);
		return this.#sync;
	}

	/** See what has changed on the platform. */
	async look(): Promise<void> {
		if (this.tenant === null) return;
		this.#askedAt = Date.now();
		try {
			if (!this.#sync) {
				this.#hasCopies = (await chatStorage.read(readSyncs, [])).length > 0;
				if (!this.#isUsed) await this.readQuota();
			}
			if (this.#isUsed) await (await this.sync()).round();
		} catch (error) {
			asProblem(error); // the next time
		}
	}

	/** Read how much of the quota is used. Raises `ApiProblem`. */
	async readQuota(): Promise<void> {
		const { quota } = (await callJson('GET', '/v1/conversations?limit=1')) as { quota: Quota };
		this.quota = quota;
	}

	/** The removal of a conversation cannot be undone any more. */
	settle(id: string): void {
		void this.sync().then((sync) => sync.settle(id)).catch(asProblem);
	}

	/** A conversation on the platform was changed, opened, answered or removed here: it is exchanged soon. */
	changed(id: string, inMs = CHANGE_MS): void {
		clearTimeout(this.#timers.get(id));
		this.#timers.set(
			id,
			setTimeout(() => {
				this.#timers.delete(id);
				void this.sync().then((sync) => sync.tryExchange(id)).catch(asProblem);
			}, inMs)
		);
	}
}

export const platform = new Platform();

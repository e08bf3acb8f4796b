import { beginAtProvider, mayAskModels, readSession, signIn, signOut, type Refusal, type Session } from '$lib/services/session';

/** What an action may need: a scope of keys, which roles have, too. */
export type Right = 'read' | 'operate' | 'admin' | 'governance';

/** The session of this browser. `current` is undefined until it was read, and null while the API does not answer or refuses to. */
class SessionStore {
	current: Session | null | undefined = $state();
	/** Why the API refuses to answer whose session it is; undefined while it answers, or cannot be reached. */
	refusal: string | undefined = $state();
	/** How often it was read: it grows also when nothing has changed. */
	readings = $state(0);
	/** How often somebody has signed in here: what was refused before is asked for again. */
	signIns = $state(0);
	/** Whether the session is being ended here, or has been: nothing is polled until the next sign-in. */
	isLeaving = $state(false);
	/** Whether the session of this page has ended, and not by its button: by its time, in a list, or in another tab. */
	hasEnded = $state(false);

	/** Whether this session may read the pages for operators. */
	get mayInspect(): boolean {
		return this.may('read');
	}

	/** The roles of the person; empty for the session of a key. */
	get roles(): readonly string[] {
		return this.current?.person?.roles ?? [];
	}

	may(right: Right): boolean {
		return this.current?.scopes.includes(right) ?? false;
	}

	/** Whether a request to a model may succeed. False before the session was read; true while the API does not answer. */
	readonly mayChat: boolean = $derived(this.current === null || (this.current !== undefined && mayAskModels(this.current)));

	#beKnown: () => void = () => undefined;
	/** Ends when the session was read for the first time, or the API has not answered. */
	readonly known = new Promise<void>((resolve) => (this.#beKnown = resolve));

	/** The number of the latest call: the answer to an earlier one may come later, and counts no more. */
	#latest = 0;

	async read(): Promise<void> {
		const call = ++this.#latest;
		const found = await readSession();
		if (call !== this.#latest) return;
		this.refusal = typeof found === 'string' ? found : undefined;
		this.current = typeof found === 'string' ? null : found;
		if (this.current) this.#noteEnd(this.current);
		if (this.current?.signed_in) this.isLeaving = false; // a sign-in in another tab
		this.readings += 1;
		this.#beKnown();
	}

	/** Whether the last answer was of a session; the API may not answer for a while before the session's end. */
	#wasSignedIn = false;

	#noteEnd({ signed_in: isSignedIn }: Session): void {
		if (isSignedIn) this.hasEnded = false;
		else if (this.#wasSignedIn) this.hasEnded = !this.isLeaving;
		this.#wasSignedIn = isSignedIn;
	}

	/** Sign in. Returns the refusal, null if the API does not answer, undefined if it was done. */
	async begin(secret: Parameters<typeof signIn>[0]): Promise<Refusal | null | undefined> {
		const call = ++this.#latest;
		const answer = await signIn(secret);
		if (answer === null || 'message' in answer) {
			if (call === this.#latest) await this.read();
			return answer;
		}
		this.#latest += 1;
		this.current = answer;
		this.#noteEnd(answer);
		this.refusal = undefined;
		this.isLeaving = false;
		this.signIns += 1;
		this.#beKnown();
		return undefined;
	}

	/** Go to the provider to sign in. Returns the message of a refusal, null if the API does not answer. */
	async goToProvider(to: string, admin: boolean): Promise<string | null | undefined> {
		const answer = await beginAtProvider(to, admin);
		if (answer === null || typeof answer === 'string') return answer;
		location.assign(answer.url);
		return undefined;
	}

	/** Sign out. Returns whether the session has ended. */
	async end(): Promise<boolean> {
		this.#latest += 1;
		this.isLeaving = true;
		const hasEnded = await signOut();
		this.isLeaving = hasEnded;
		await this.read();
		return hasEnded;
	}
}

export const session = new SessionStore();

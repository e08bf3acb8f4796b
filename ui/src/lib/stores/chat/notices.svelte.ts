/** So long a notice stays, in ms; one with an action longer, as it has to be reached. */
const SHORT_MS = 5_000;
const LONG_MS = 10_000;

export interface NoticeAction {
	label: string;
	run: () => void;
}

export interface ShownNotice {
	id: number;
	text: string;
	action: NoticeAction | undefined;
}

/** Short lines at the bottom of the chat: what was done, and how it is undone. */
class NoticeStore {
	current: ShownNotice | null = $state.raw(null);
	#count = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#onEnd: (() => void) | undefined;

	/**
	 * Show a line instead of the present one.
	 *
	 * @param onEnd called when the line goes without its action
	 */
	show(text: string, action?: NoticeAction, onEnd?: () => void): void {
		this.close();
		this.current = { id: (this.#count += 1), text, action };
		this.#onEnd = onEnd;
		this.resume();
	}

	/** Let the line stay while it has the focus or the pointer. */
	hold(): void {
		clearTimeout(this.#timer);
	}

	/** Count the time anew. */
	resume(): void {
		clearTimeout(this.#timer);
		if (this.current) this.#timer = setTimeout(() => this.close(), this.current.action ? LONG_MS : SHORT_MS);
	}

	/** Run the action of the line. */
	act(): void {
		const action = this.current?.action;
		this.#onEnd = undefined;
		this.close();
		action?.run();
	}

	close(): void {
		clearTimeout(this.#timer);
		const onEnd = this.#onEnd;
		this.#onEnd = undefined;
		this.current = null;
		onEnd?.();
	}
}

export const notices = new NoticeStore();

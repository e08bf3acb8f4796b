import { asProblem, type ApiProblem } from '$lib/services/call';

/** So long after a change of the question the platform is asked. */
const PAUSE_MS = 400;

/** The answer to a question, or why there is none. */
export interface Answered<T> {
	value?: T;
	problem?: ApiProblem;
}

interface Options<T> {
	/** Raises `ApiProblem`. */
	ask: (question: string) => Promise<T>;
	onanswer: (answer: Answered<T>) => void;
	/** So long after an answer the question is asked again, as what it depends on changes by itself; undefined: never. */
	everyMs?: number | undefined;
	/** Whether it is asked again now, such as in a tab that is seen. */
	mayRepeat?: () => boolean;
}

/** Asks the platform one thing at a time: it answers what it has begun. An answer to an earlier question counts no more. */
export class Asking<T> {
	#before: Promise<unknown> = Promise.resolve();

	constructor(readonly options: Options<T>) {}

	/** Ask a moment later. Returns what ends it. */
	begin(question: string): () => void {
		const { ask, onanswer, everyMs, mayRepeat = () => true } = this.options;
		let hasEnded = false;
		let timer = setTimeout(() => void read(), PAUSE_MS);
		const repeat = (): void => {
			if (everyMs !== undefined) timer = setTimeout(() => (mayRepeat() ? void read() : repeat()), everyMs);
		};
		const read = async (): Promise<void> => {
			await this.#before;
			if (hasEnded) return;
			const asking = ask(question).then(
				(value): Answered<T> => ({ value }),
				(error: unknown): Answered<T> => ({ problem: asProblem(error) })
			);
			this.#before = asking;
			const answer = await asking;
			if (hasEnded) return;
			onanswer(answer);
			repeat();
		};
		return () => {
			hasEnded = true;
			clearTimeout(timer);
		};
	}
}

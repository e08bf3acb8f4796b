import { updated } from '$app/state';
import { Backoff, pause } from '$lib/services/chat/pause';

/** A component that is loaded when it is needed. If its file does not come, `fail` is called, and the promise stays open. */
export async function part<T>(load: () => Promise<{ default: T }>, fail: () => void): Promise<T> {
	try {
		return (await load()).default;
	} catch {
		fail();
		return new Promise(() => undefined);
	}
}

/** The same for a part of what is shown, which no person opens again: its file is asked for until it comes. */
export async function lastingPart<T>(load: () => Promise<{ default: T }>): Promise<T> {
	const backoff = new Backoff(2_000);
	for (;;) {
		try {
			return (await load()).default;
		} catch {
			await pause(backoff.next(), new AbortController().signal);
		}
	}
}

/** Tell when a file of the page does not come: whether it has gone with a newer version of the pages. Returns what ends it. */
export function onPartMissing(tell: (isOutdated: boolean) => void): () => void {
	const onMissing = (): void => void updated.check().then(tell);
	addEventListener('vite:preloadError', onMissing);
	return () => removeEventListener('vite:preloadError', onMissing);
}

import { updated } from '$app/state';

/** A component that is loaded when it is needed. If its file does not come, `fail` is called, and the promise stays open. */
export async function part<T>(load: () => Promise<{ default: T }>, fail: () => void): Promise<T> {
	try {
		return (await load()).default;
	} catch {
		fail();
		return new Promise(() => undefined);
	}
}

/** Tell when a file of the page does not come: whether it has gone with a newer version of the pages. Returns what ends it. */
export function onPartMissing(tell: (isOutdated: boolean) => void): () => void {
	const onMissing = (): void => void updated.check().then(tell);
	addEventListener('vite:preloadError', onMissing);
	return () => removeEventListener('vite:preloadError', onMissing);
}

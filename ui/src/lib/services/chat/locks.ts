/** Locks of the browser, which one tab has at a time. Browsers have them on https and loopback only; elsewhere each tab has all. */

/** Do `work` with the lock. `onWait` is called if another tab has it; then it waits, until `signal` stops that. */
export async function holdLock(
	name: string,
	signal: AbortSignal,
	work: () => Promise<void>,
	onWait: () => void
): Promise<void> {
	if (await tryLock(name, work)) return;
	onWait();
	await unlessAborted(signal, navigator.locks.request(name, { signal }, work));
}

/** Do `work` with the first of these locks that is free; all are taken: returns false. */
export async function tryLocks(names: string[], work: () => Promise<void>): Promise<boolean> {
	for (const name of names) if (await tryLock(name, work)) return true;
	return false;
}

/** Do `work` with one of these locks: the first that is free. Waits until `signal` stops it. */
export async function holdAny(names: string[], signal: AbortSignal, work: () => Promise<void>): Promise<void> {
	if (await tryLocks(names, work)) return;
	const stop = new AbortController();
	signal.addEventListener('abort', () => stop.abort(), { once: true });
	if (signal.aborted) return;
	let isTaken = false;
	const take = async () => {
		if (isTaken) return;
		isTaken = true;
		stop.abort();
		await work();
	};
	await Promise.all(
		names.map((name) => unlessAborted(stop.signal, navigator.locks.request(name, { signal: stop.signal }, take)))
	);
}

async function tryLock(name: string, work: () => Promise<void>): Promise<boolean> {
	if (typeof navigator === 'undefined' || !('locks' in navigator)) {
		await work();
		return true;
	}
	return navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
		if (lock) await work();
		return lock !== null;
	});
}

async function unlessAborted(signal: AbortSignal, request: Promise<unknown>): Promise<void> {
	try {
		await request;
	} catch (error) {
		if (!signal.aborted || !(error instanceof DOMException)) throw error;
	}
}

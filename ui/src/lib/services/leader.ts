const NAME = 'stoker-feed';

/**
 * Do `work` in one tab of the browser at a time, as long as `signal` does not stop it: another tab follows when the first one
 * ends. Browsers have Web Locks on https and loopback only; elsewhere each tab does it by itself.
 */
export async function asLeader(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
	if (!('locks' in navigator)) {
		await work();
		return;
	}
	try {
		await navigator.locks.request(NAME, { signal }, work);
	} catch (error) {
		if (!signal.aborted) throw error;
	}
}

/** The channel to the other tabs of the browser. */
export function otherTabs(): BroadcastChannel | undefined {
	return typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(NAME);
}

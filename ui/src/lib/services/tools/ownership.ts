/**
 * Take the calls of an answer for this tab, until its page ends: another tab may show the same answer, and a call is to be
 * made once. Returns whether this tab has them. Browsers have locks on https and loopback only; elsewhere each tab has all.
 */
export function takeCalls(answer: string): Promise<boolean> {
	if (typeof navigator === 'undefined' || !('locks' in navigator)) return Promise.resolve(true);
	return new Promise((resolve, reject) => {
		const hold = (lock: Lock | null): Promise<void> | undefined => {
			resolve(lock !== null);
			return lock ? new Promise<void>(() => undefined) : undefined; // it is never given back
		};
		navigator.locks.request(`stoker-tools-${answer}`, { ifAvailable: true }, hold).catch(reject);
	});
}

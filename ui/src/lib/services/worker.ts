/** The policy for Trusted Types that the page's header names: a worker's script comes from the page's origin. */
let policy: { createScriptURL(address: string): unknown } | undefined;

interface TrustedTypes {
	createPolicy(name: string, rules: { createScriptURL(address: string): string }): typeof policy;
}

function ownAddress(address: string): string {
	const url = new URL(address, location.href);
	if (url.origin !== location.origin) throw new TypeError('a worker of another origin');
	return url.href;
}

/** Start a worker by the address of its module (`import address from './some.worker?worker&url'`). */
export function startWorker(address: string): Worker {
	const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes; // Safari and Firefox got it in 2025
	policy ??= types?.createPolicy('stoker-worker', { createScriptURL: ownAddress });
	const url = policy ? policy.createScriptURL(address) : ownAddress(address);
	return new Worker(url as string, { type: 'module' });
}

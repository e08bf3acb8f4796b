import { usePolled } from '$lib/hooks/polled.svelte';
import { readHealth } from '$lib/services/platform';

const EVERY_MS = 10_000;

/** Why the platform is not healthy, as `/health` names it, in a component while its tab is visible; undefined if it is, or is unknown. */
export function useUnhealthy(): { reason: string | undefined } {
	const health = usePolled(readHealth, EVERY_MS);
	return {
		get reason() {
			return health.value?.status === 'unhealthy' ? health.value.reason : undefined;
		}
	};
}

import { feed } from '$lib/stores/feed.svelte';
import { session } from '$lib/stores/session.svelte';

/** So long after a tab was hidden it lets the feed go, so that a browser whose tabs are all hidden holds no connection. */
const HIDDEN_MS = 60_000;

let users = 0;

/** Follow the feed while the component is mounted, the session may read it and the tab is visible. */
export function useFeed(): void {
	$effect(() => {
		if (!session.mayInspect || session.isLeaving) return;
		let timer: ReturnType<typeof setTimeout> | undefined;

		function onVisibility(): void {
			clearTimeout(timer);
			if (document.hidden) timer = setTimeout(() => feed.pause(), HIDDEN_MS);
			else feed.resume();
		}

		users += 1;
		onVisibility();
		document.addEventListener('visibilitychange', onVisibility);
		return () => {
			users -= 1;
			clearTimeout(timer);
			document.removeEventListener('visibilitychange', onVisibility);
			if (users === 0) queueMicrotask(() => users === 0 && feed.pause()); // the next page may use it at once
		};
	});
}

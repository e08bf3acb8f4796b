import type { Change } from '$lib/services/feed_events';
import { feed } from '$lib/stores/feed.svelte';
import { session, type Right } from '$lib/stores/session.svelte';

/** The id of the latest change of a type that the feed has reported. */
export function latestChange(kind: Change['type']): string | undefined {
	return feed.changes.find(({ type }) => type === kind)?.id;
}

/** What can wait on a page. */
interface Waiting {
	/** The right that the session needs. */
	scope: Right;
	/** The changes of the feed after which it is counted again. */
	kind: Change['type'];
	count: () => Promise<number>;
}

/**
 * How much waits, for a session that may read it: read again when `place` changes, and when the feed, which each page for
 * operators follows, reports a change.
 */
export function useWaiting({ scope, kind, count }: Waiting, place: () => unknown): { readonly value: number | undefined } {
	let value: number | undefined = $state();
	const mayRead = $derived(session.may(scope));
	const latest = $derived(latestChange(kind));
	$effect(() => {
		void place();
		void latest;
		if (!mayRead) {
			value = undefined;
			return;
		}
		let isGone = false;
		count().then(
			(found) => {
				if (!isGone) value = found;
			},
			() => undefined // the page shows what is wrong
		);
		return () => {
			isGone = true;
		};
	});
	return {
		get value() {
			return value;
		}
	};
}

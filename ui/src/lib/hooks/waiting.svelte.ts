import { countWaiting } from '$lib/services/proposals';
import { feed } from '$lib/stores/feed.svelte';
import { session } from '$lib/stores/session.svelte';

/** The id of the latest change of a proposal that the feed has reported. */
export function latestProposalChange(): string | undefined {
	return feed.changes.find(({ type }) => type === 'proposal')?.id;
}

/**
 * How many proposals wait, for a session that may read them: read again when `place` changes, and when the feed reports a change
 * of a proposal. It is never polled, as that would keep the session of a page that is left alone from ending.
 */
export function useWaitingProposals(place: () => unknown): { readonly value: number | undefined } {
	let value: number | undefined = $state();
	const mayRead = $derived(session.current?.scopes.includes('governance') ?? false);
	const latest = $derived(latestProposalChange());
	$effect(() => {
		void place();
		void latest;
		if (!mayRead) {
			value = undefined;
			return;
		}
		let isGone = false;
		countWaiting().then(
			(count) => {
				if (!isGone) value = count;
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

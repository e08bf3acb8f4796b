import { countInputTokens } from '$lib/services/chat/input_tokens';

/** So long a person has to pause, in ms, before the model counts: a count is a request like others. */
const PAUSE_MS = 900;

/** What is counted: `key` says whether it has changed. */
export interface Counted {
	key: string;
	body: () => Promise<Readonly<Record<string, unknown>> | null>;
}

/** The tokens of what `read` gives, null until they are known; `read` gives null for what is not to be counted. */
export function useInputTokens(read: () => Counted | null): { readonly count: number | null } {
	let known: { key: string; count: number | null } | null = $state.raw(null);
	const counted = $derived(read());
	const key = $derived(counted?.key ?? null);

	$effect(() => {
		const wanted = key;
		const what = counted;
		if (wanted === null || !what || known?.key === wanted) return;
		const stop = new AbortController();
		const timer = setTimeout(() => {
			void what.body().then(async (body) => {
				const count = body && !stop.signal.aborted ? await countInputTokens(body, stop.signal) : null;
				if (!stop.signal.aborted) known = { key: wanted, count };
			});
		}, PAUSE_MS);
		return () => {
			clearTimeout(timer);
			stop.abort();
		};
	});

	return {
		get count() {
			return known !== null && known.key === key ? known.count : null;
		}
	};
}

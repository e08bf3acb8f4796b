import { usePolled, type Polled } from '$lib/hooks/polled.svelte';
import { asProblem, type ApiProblem } from '$lib/services/call';
import { merged, readOperations, type Operation, type OperationFilter, type OperationPage } from '$lib/services/operations';
import { feed } from '$lib/stores/feed.svelte';

const POLL_MS = 2_000;
/** While the feed reports what changes, the list is read so often only, for what expires. */
const WITH_FEED_MS = 20_000;

/** A list of operations that moves with the feed; it is read every two seconds where there is none. */
export interface OperationListing {
	readonly polled: Polled<OperationPage>;
	readonly rows: readonly Operation[];
	/** Whether there are older ones, which `readOlder` adds. */
	readonly hasOlder: boolean;
	readonly olderProblem: ApiProblem | undefined;
	readOlder(): Promise<void>;
	/** Read now. */
	refresh(): Promise<void>;
}

/** List operations in a component, `limit` at first; the list begins again when the filter changes. */
export function useOperations(filter: () => OperationFilter, limit: number): OperationListing {
	/** What was read: rows that have left the first page since, and older pages, stay in the list. */
	let kept: Record<string, Operation> = $state.raw({});
	/** The first page, and the filter that it was read with. */
	let first: { key: string; page: OperationPage } | undefined = $state.raw();
	let older: OperationPage | undefined = $state.raw();
	let olderProblem: ApiProblem | undefined = $state.raw();

	const key = $derived(JSON.stringify(filter()));
	/** The latest key: an answer may come when the component has gone, and `key` with it. */
	let wanted = '';
	$effect(() => {
		wanted = key;
		kept = {};
		older = olderProblem = undefined;
	});

	function keep(page: OperationPage): void {
		kept = { ...kept, ...Object.fromEntries(page.data.map((operation) => [operation.id, operation])) };
	}

	let lastRead: { key: string; at: number; page: OperationPage } | undefined;
	const polled = usePolled(async () => {
		const asked = key;
		const isFresh = lastRead?.key === key && Date.now() - lastRead.at < WITH_FEED_MS;
		if (feed.state === 'live' && lastRead && isFresh) return lastRead.page;
		const page = await readOperations(filter(), limit);
		if (asked === wanted) {
			keep(page);
			first = { key: asked, page };
			lastRead = { key: asked, at: Date.now(), page };
		}
		return page;
	}, POLL_MS);

	const end = $derived(older ?? (first?.key === key ? first.page : undefined));
	const rows = $derived(merged(Object.values(kept), feed.operations, filter()));

	async function readOlder(): Promise<void> {
		const asked = key;
		const after = end?.last_id;
		if (!after) return;
		olderProblem = undefined;
		try {
			const page = await readOperations(filter(), limit, after);
			if (asked !== wanted) return;
			keep(page);
			older = page;
		} catch (error) {
			olderProblem = asProblem(error);
		}
	}

	return {
		polled,
		get rows() {
			return rows;
		},
		get hasOlder() {
			return end?.has_more ?? false;
		},
		get olderProblem() {
			return olderProblem;
		},
		readOlder,
		refresh() {
			lastRead = undefined;
			return polled.refresh();
		}
	};
}

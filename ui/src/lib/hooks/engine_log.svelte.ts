import { usePolled, type Polled } from '$lib/hooks/polled.svelte';
import { readLog, withLines, type LogFilter, type LogLine } from '$lib/services/model_page';

/** So many lines are kept and shown, the latest ones. */
export const MOST_LINES = 1_000;
/** The API gives so many lines in a page. */
const PAGE = 1_000;
/** After a while without polling more lines may have come than one page has. */
const MOST_PAGES = 3;

/** The log of a model's engines, which grows while it is not paused. */
export interface EngineLog {
	readonly polled: Polled<boolean>;
	readonly lines: readonly LogLine[];
	/** Whether lines that came between two readings may be missing. */
	readonly hasGap: boolean;
	isPaused: boolean;
}

/** Follow the log of the model `name` in a component; it begins again when the model or the filter changes. */
export function useEngineLog(name: () => string, filter: () => LogFilter): EngineLog {
	let lines: readonly LogLine[] = $state.raw([]);
	let hasGap = $state(false);
	let isPaused = $state(false);
	const key = $derived(JSON.stringify([name(), filter()]));
	let position: { key: string; after: string | undefined } | undefined;

	const polled = usePolled(async () => {
		const asked = key;
		const [model, wanted] = [name(), filter()];
		const wasPaused = isPaused;
		if (isPaused && position?.key === asked) return true;
		if (position?.key !== asked) {
			position = { key: asked, after: undefined };
			lines = [];
			hasGap = false;
		}
		for (let pages = 0; pages < MOST_PAGES; pages += 1) {
			const page = await readLog(model, wanted, position.after, PAGE);
			if (position.key !== asked) break; // another filter was chosen meanwhile
			if (isPaused && !wasPaused && lines.length > 0) break; // paused meanwhile: these lines are read again later
			position.after = page.last_id ?? undefined;
			lines = withLines(lines, page.data, MOST_LINES);
			hasGap = hasGap || page.has_gap;
			if (!page.has_more) break;
		}
		return true;
	});

	return {
		polled,
		get lines() {
			return lines;
		},
		get hasGap() {
			return hasGap;
		},
		get isPaused() {
			return isPaused;
		},
		set isPaused(value: boolean) {
			isPaused = value;
		}
	};
}

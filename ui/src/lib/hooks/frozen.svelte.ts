import { doesLive } from '$lib/services/platform';

const EVERY_MS = 3_000;
/** A process that does not answer `/live` for so long is stuck: its event loop answers that alone. */
const LONGEST_MS = 5_000;

/**
 * Since when (Unix milliseconds) the platform accepts connections and does not answer, in a component while its tab is visible: the
 * process was stopped, or its machine swaps. Each page itself shows that a connection was refused.
 */
export function useFrozen(): { since: number | undefined } {
	let since: number | undefined = $state();

	async function look(): Promise<void> {
		const asked = Date.now();
		const answer = await doesLive(LONGEST_MS);
		if (Date.now() - asked > 2 * LONGEST_MS) return; // the computer slept meanwhile
		since = answer === 'frozen' ? (since ?? asked) : undefined;
	}

	$effect(() => {
		let timer: ReturnType<typeof setTimeout> | undefined;
		let isOver = false;
		async function next(): Promise<void> {
			if (!document.hidden) await look();
			if (!isOver) timer = setTimeout(() => void next(), EVERY_MS);
		}
		timer = setTimeout(() => void next(), EVERY_MS);
		return () => {
			isOver = true;
			clearTimeout(timer);
		};
	});
	return {
		get since() {
			return since;
		}
	};
}

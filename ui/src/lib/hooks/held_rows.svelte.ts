import { on } from 'svelte/events';
import { freeRows, heldRows, type HeldRows } from '$lib/services/held_rows';

interface Listed<Row> {
	/** The rows that are to be shown, in their order. */
	fitting: () => readonly Row[];
	/** All rows that there are. */
	all: () => readonly Row[];
	key: (row: Row) => string;
	/** What a person has chosen about the list: after a change it is arranged anew, wherever the pointer rests. */
	chosen?: () => string;
	/** The selector of its rows. */
	rows: string;
}

/** The rows of a list in a component, which keep their places while the pointer or the keyboard's focus is among them. */
export interface RowHold<Row> {
	readonly value: HeldRows<Row>;
	/** It goes on the element around the rows. */
	attach: (list: HTMLElement) => () => void;
}

/** A click leaves the focus in the row, too, where it may stay for long: only the focus that is seen counts. */
function isFocusSeen(target: EventTarget | null): boolean {
	return target instanceof Element && target.matches(':focus-visible');
}

export function useHeldRows<Row>({ fitting, all, key, chosen = () => '', rows }: Listed<Row>): RowHold<Row> {
	let isPointed = $state(false);
	let isFocused = $state(false);
	const choice = $derived(chosen());
	let before: { choice: string; rows: readonly Row[] } = { choice: '', rows: [] }; // not reactive

	const value = $derived.by(() => {
		const isHeld = (isPointed || isFocused) && before.choice === choice;
		const found = isHeld ? heldRows(before.rows, fitting(), all(), key) : freeRows(fitting());
		before = { choice, rows: found.rows };
		return found;
	});

	function end(): void {
		isPointed = isFocused = false;
	}
	// the rows of another choice may come later: they are held when the pointer moves again
	$effect(() => {
		void choice;
		end();
	});

	const isRow = (target: EventTarget | null) => target instanceof Element && target.closest(rows) !== null;

	function attach(list: HTMLElement): () => void {
		// `on`, as the browser may call a listener while Svelte takes the element away that had the focus
		const stops = [
			on(list, 'pointermove', ({ target }) => (isPointed = isRow(target))),
			on(list, 'pointerleave', () => (isPointed = false)),
			on(list, 'focusin', ({ target }) => (isFocused = isRow(target) && isFocusSeen(target))),
			on(list, 'focusout', ({ relatedTarget }) => (isFocused = isRow(relatedTarget) && isFocusSeen(relatedTarget)))
		];
		return () => {
			for (const stop of stops) stop();
			end(); // a list that goes gets no event of the pointer that leaves it
		};
	}

	return {
		get value() {
			return value;
		},
		attach
	};
}

import { MediaQuery } from 'svelte/reactivity';
import { preferences } from './preferences.svelte';

/** A dialog of the frame. Only one is open; each is loaded when it is. */
export type FrameDialog =
	| { kind: 'palette' | 'shortcuts' | 'import' | 'removeAll' | 'signIn' | 'signOut' }
	/** Null: all conversations. */
	| { kind: 'export'; conversation: string | null }
	| { kind: 'rename' | 'folder' | 'move'; conversation: string };

/** What surrounds the page: the list of conversations, which is a drawer on narrow screens, and the dialogs. */
class FrameStore {
	dialog: FrameDialog | null = $state.raw(null);
	isDrawerOpen = $state(false);
	/** It grows when the search is asked for: its field takes the focus. */
	searches = $state(0);
	#wide = new MediaQuery('(min-width: 48rem)', true);

	/** Whether the list has room beside the page. */
	get isWide(): boolean {
		return this.#wide.current;
	}

	get isListShown(): boolean {
		return this.isWide ? !preferences.isListHidden : this.isDrawerOpen;
	}

	toggleList(): void {
		if (this.isWide) preferences.isListHidden = !preferences.isListHidden;
		else this.isDrawerOpen = !this.isDrawerOpen;
	}

	/** Show the list, with the focus in its search. */
	search(): void {
		if (!this.isListShown) this.toggleList();
		this.searches += 1;
	}
}

export const frame = new FrameStore();

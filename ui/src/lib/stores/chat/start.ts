import { conversations } from './conversations.svelte';
import { drafts } from './drafts.svelte';
import { chatStorage } from './storage.svelte';

/** Begin the chat of this tab: the layout of its pages calls it once. Returns what ends it. */
export function startChat(): () => void {
	const ends = [chatStorage.start(), conversations.start()];
	const onHide = () => drafts.flush();
	addEventListener('pagehide', onHide);
	return () => {
		removeEventListener('pagehide', onHide);
		for (const end of ends) end();
	};
}

import type { Attachment } from '$lib/chat_types';
import { chatStorage } from '$lib/stores/chat/storage.svelte';
import { readAttachments } from '$lib/storage/attachments';

/** The attachments with these ids, read anew when the ids change; none before. */
export function useAttachments(ids: () => string[]): { readonly found: readonly Attachment[] } {
	let found: readonly Attachment[] = $state.raw([]);
	const wanted = $derived(ids().join(' '));
	$effect(() => {
		const asked = wanted;
		if (asked === '') {
			found = [];
			return;
		}
		void chatStorage.read(() => readAttachments(asked.split(' ')), []).then((read) => {
			if (asked === wanted) found = read;
		});
	});
	return {
		get found() {
			return found;
		}
	};
}

import type { Attachment } from '$lib/chat_types';
import { attachmentsOf } from '$lib/stores/chat/attachments';

/** The attachments with these ids that this browser has, read anew when the ids change; undefined before the first reading. */
export function useAttachments(ids: () => string[]): { readonly found: readonly Attachment[] | undefined } {
	let found: readonly Attachment[] | undefined = $state.raw();
	const wanted = $derived(ids().join(' '));
	$effect(() => {
		const asked = wanted;
		void attachmentsOf(asked === '' ? [] : asked.split(' ')).then((read) => {
			if (asked === wanted) found = read;
		});
	});
	return {
		get found() {
			return found;
		}
	};
}

/** Files of conversations, from the stores. */
import { language } from '$lib/chat_text/language.svelte';
import { markdownOf } from '$lib/services/chat/markdown_export';
import { readWhole, type WholeConversation } from '$lib/storage/conversations';
import { conversations } from '$lib/stores/chat/conversations.svelte';
import { titleOf } from './actions';

/** A conversation as it is in the storage; what the storage does not have is taken from the memory of this page. */
export async function readForExport(id: string): Promise<WholeConversation | undefined> {
	const conversation = conversations.get(id);
	if (!conversation) return undefined;
	let stored: WholeConversation | undefined;
	try {
		stored = await readWhole(id);
	} catch {
		// the browser stores nothing here
	}
	return { conversation, messages: await conversations.messages(id), attachments: stored?.attachments ?? [] };
}

/** The shown branch as Markdown. */
export async function markdownFile(id: string): Promise<Blob> {
	const [whole, tree] = await Promise.all([readForExport(id), conversations.open(id)]);
	if (!whole || !tree) throw new Error(`there is no conversation ${id}`);
	const files = new Map(whole.attachments.map((attachment) => [attachment.id, attachment] as const));
	const conversation = { ...whole.conversation, title: titleOf(whole.conversation) };
	const text = markdownOf(conversation, tree.history(tree.leaf), files, language.text.shell.markdown);
	return new Blob([text], { type: 'text/markdown;charset=utf-8' });
}

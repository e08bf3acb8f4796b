import type { ChatSettings } from '$lib/chat_types';
import { inputOf } from '$lib/services/chat/input';
import { newUserMessage } from '$lib/services/chat/new_records';
import { requestBody, type ToolDefinition } from '$lib/services/chat/request';
import type { ConversationTree } from '$lib/stores/chat/tree.svelte';
import { attachmentsOf } from '$lib/stores/chat/attachments';

export interface DraftOf {
	/** Undefined for a new conversation. */
	tree: ConversationTree | undefined;
	/** The message that the draft follows. */
	parent: string | null;
	settings: ChatSettings;
	tools: (names: string[]) => Promise<ToolDefinition[]>;
	/** What the model takes besides text. */
	modalities: readonly string[];
	reasoning: readonly string[] | undefined;
	text: string;
	attachments: string[];
}

/** The whole request that a draft would become, to count its tokens: its history is in it, wherever the conversation is kept. */
export async function draftBody(draft: DraftOf): Promise<Record<string, unknown> | null> {
	const { tree, parent, settings, tools, modalities, reasoning, text, attachments } = draft;
	if (settings.model === null) return null;
	const history = [...(tree?.history(parent) ?? []), newUserMessage(tree?.id ?? '', parent, text, [...attachments])];
	const ids = history.flatMap((message) => (message.role === 'user' ? message.attachments : []));
	const files = await attachmentsOf(ids);
	return requestBody({
		model: settings.model,
		settings,
		input: await inputOf(history, new Map(files.map((file) => [file.id, file])), modalities),
		tools: settings.tools.length > 0 ? await tools(settings.tools) : [],
		reasoning,
		continues: false,
		place: null
	});
}

/** Exports of other chat pages, in the form of our own file. `import.ts` checks the result like any other. */
import { fieldsOf, listOf, type Fields } from './import_fields';

/** So many messages of a conversation are read. */
const MAX_ENTRIES = 100_000;

/**
 * The conversations of a file of llama-server's page (`[{conv, messages}]`, or one of these) or of Open WebUI (`[{chat: {history}}]`);
 * undefined if it is neither.
 */
export function foreignConversations(content: unknown, max: number): Fields[] | undefined {
	const found = (Array.isArray(content) ? listOf(content, max) : [content]).map(fieldsOf);
	const entries = found.filter((entry) => entry !== undefined);
	if (fieldsOf(entries[0]?.conv)) return entries.map(ofLlamaServer);
	if (fieldsOf(entries[0]?.chat)) return entries.map(ofOpenWebUi);
	return undefined;
}

function ofLlamaServer(entry: Fields): Fields {
	const conv = fieldsOf(entry.conv) ?? {};
	const messages = listOf(entry.messages, MAX_ENTRIES).flatMap((value) => {
		const message = fieldsOf(value);
		if (!message || message.type === 'root') return [];
		return { ...messageOf(message), parent: message.parent, createdAt: message.timestamp, model: message.model };
	});
	return {
		conversation: {
			id: conv.id,
			title: conv.name,
			isTitled: true,
			isPinned: conv.pinned,
			createdAt: messages[0]?.createdAt ?? conv.lastModified,
			changedAt: conv.lastModified,
			leaf: conv.currNode
		},
		messages
	};
}

function messageOf(message: Fields): Fields {
	return {
		id: message.id,
		role: message.role,
		text: message.content,
		output: message.content,
		callId: message.toolCallId,
		reasoning: message.reasoningContent ?? message.thinking,
		status: 'done'
	};
}

function ofOpenWebUi(entry: Fields): Fields {
	const chat = fieldsOf(entry.chat) ?? {};
	const history = fieldsOf(chat.history) ?? {};
	const messages = Object.values(fieldsOf(history.messages) ?? {})
		.slice(0, MAX_ENTRIES)
		.flatMap((value) => {
			const message = fieldsOf(value);
			if (!message) return [];
			return {
				...messageOf(message),
				parent: message.parentId,
				createdAt: ofSeconds(message.timestamp),
				model: message.model
			};
		});
	return {
		conversation: {
			id: entry.id,
			title: entry.title ?? chat.title,
			isTitled: true,
			isPinned: entry.pinned,
			createdAt: ofSeconds(entry.created_at),
			changedAt: ofSeconds(entry.updated_at),
			leaf: history.currentId
		},
		messages
	};
}

function ofSeconds(value: unknown): unknown {
	return typeof value === 'number' ? value * 1_000 : undefined;
}

import type { ChatSettings } from '$lib/chat_types';
import type { InputItem } from './input';

/** A function that a model may call, in the form of the Responses API. */
export interface ToolDefinition {
	type: 'function';
	name: string;
	description?: string;
	parameters: Record<string, unknown>;
	strict?: boolean;
}

/** Where a request belongs to, if its conversation is kept on the platform. */
export interface TreePlace {
	id: string;
	parent: string | null;
	/** A line stands in the place of what the model does not take, or the request has no room for. */
	attachments: 'auto';
}

/** The body of `POST /v1/responses`. */
export type RequestBody = Record<string, unknown> & { model: string; input: InputItem[] };

/** What a request of a conversation is made of. */
export interface RequestParts {
	model: string;
	settings: ChatSettings;
	input: InputItem[];
	tools: ToolDefinition[];
	/** The values of `thinking` that the model takes; unless given, they are not known. */
	reasoning?: readonly string[] | undefined;
	/** Whether the last item of the input is a begun answer, which is continued. */
	continues: boolean;
	place: TreePlace | null;
	/** Kept with the answer on the platform. */
	metadata?: Record<string, string>;
}

/** The body of a request: what is not set is left out, so that the server's defaults count. */
export function requestBody(parts: RequestParts): RequestBody {
	const { settings } = parts;
	return {
		model: parts.model,
		input: parts.input,
		...(settings.instructions.trim() !== '' && { instructions: settings.instructions }),
		...settings.parameters,
		...reasoningOf(settings.reasoning, parts.reasoning),
		...(parts.tools.length > 0 && { tools: parts.tools }),
		...(settings.format && { text: { format: { type: 'json_schema', ...settings.format } } }),
		...(parts.continues && { continue_final_message: true }),
		...(parts.place && { conversation: parts.place }),
		...(parts.metadata && { metadata: parts.metadata }),
		stream: true,
		store: true,
		return_progress: true
	};
}

/** A model without the choice would refuse `thinking`: one that never reasons does what is asked anyway. */
function reasoningOf(reasoning: ChatSettings['reasoning'], taken: readonly string[] = ['disabled']): Record<string, unknown> {
	if (reasoning === 'default' || (reasoning === 'off' && !taken.includes('disabled'))) return {};
	return reasoning === 'off' ? { thinking: 'disabled' } : { reasoning: { effort: reasoning } };
}

import { api } from '$lib/api/client';
import type { components } from '$lib/api/schema';
import type { MediaTask } from '$lib/chat_types';
import { call } from '$lib/services/call';
import { fold } from '$lib/services/chat/fold';
import { defaultsOf, type Defaults } from '$lib/services/chat/parameters';

export type ModelObject = components['schemas']['ModelObject'];
/** `text`, `image`, `document`, `audio`. */
export type Input = string;

/** A model as the chat sees it. Null is what is not known. */
export interface ChatModel {
	name: string;
	state: ModelObject['state'];
	/** It runs on another operator's server: requests need consent. */
	isRemote: boolean;
	/** Whether a request of this session loads it. */
	canLoad: boolean;
	/** Whether this session may load it before any request. */
	mayLoad: boolean;
	loading: { progress: number; etaSeconds: number | null } | null;
	/** Why its last load failed; the message is null for those who may not see it. */
	failure: { code: string; message: string | null } | null;
	loadSeconds: number | null;
	/** Unix seconds of its load; 0 if it is not loaded. */
	loadedAt: number;
	/** The most tokens of one request. */
	context: number | null;
	bytes: number | null;
	quantization: string | null;
	inputs: readonly Input[];
	/** What it does in place of answers in text; null: it answers in text. */
	task: MediaTask | null;
	/** The sizes and qualities that a request for an image may name, and the voices of speech; empty: none is declared. */
	imageSizes: readonly string[];
	imageQualities: readonly string[];
	voices: readonly string[];
	takesTools: boolean;
	followsSchemas: boolean;
	isMultiTurn: boolean;
	countsTokens: boolean;
	/** Whether a request may turn reasoning off, and on. */
	reasoning: readonly string[];
	/** The sampling fields of a request that it honours; null: not told. */
	sampling: readonly string[] | null;
	tokensPerSecond: number | null;
	loras: readonly string[];
}

/** The models that a chat can use, by name. Raises `ApiProblem`. */
export async function readModels(): Promise<ChatModel[]> {
	const list = await call(api.GET('/v1/models'));
	return list.data.filter(isForChat).map(chatModel).sort(byName);
}

function isForChat({ chat }: ModelObject): boolean {
	return chat.output === 'text' || taskOf(chat) !== null;
}

/** The tasks of the chat by those of `GET /v1/models`. */
const TASKS: readonly (readonly [string, MediaTask])[] = [
	['image', 'image'],
	['transcribe', 'transcription'],
	['speech', 'speech']
];

function taskOf({ media_tasks: tasks }: ModelObject['chat']): MediaTask | null {
	return TASKS.find(([name]) => tasks.includes(name))?.[1] ?? null;
}

export function chatModel({ chat, ...model }: ModelObject): ChatModel {
	return {
		name: model.id,
		state: model.state,
		isRemote: model.remote,
		canLoad: chat.can_load,
		mayLoad: chat.may_load,
		loading: chat.loading && { progress: chat.loading.progress, etaSeconds: chat.loading.eta_s },
		failure: chat.failure,
		loadSeconds: chat.load_s,
		loadedAt: model.created,
		context: taskOf(chat) === null ? chat.context_length : null,
		bytes: chat.size_bytes,
		quantization: chat.quantization,
		inputs: chat.input,
		task: taskOf(chat),
		imageSizes: chat.image_sizes,
		imageQualities: chat.image_qualities,
		voices: chat.voices,
		takesTools: chat.tools,
		followsSchemas: chat.json_schema,
		isMultiTurn: chat.multi_turn,
		countsTokens: chat.counts_tokens,
		reasoning: chat.reasoning,
		sampling: chat.sampling,
		tokensPerSecond: chat.tokens_per_second,
		loras: model.lora
	};
}

function byName(one: ChatModel, other: ChatModel): number {
	return one.name.localeCompare(other.name, undefined, { numeric: true });
}

/** What a loaded model does with a request that asks for nothing else. Raises `ApiProblem` (409: it is not loaded). */
export async function readDefaults(name: string): Promise<Defaults> {
	const properties = await call(api.GET('/v1/props', { params: { query: { model: name } } }));
	const { params } = properties.default_generation_settings;
	return defaultsOf(typeof params === 'object' && params !== null ? (params as Record<string, unknown>) : {});
}

/** Begin to load a model. Raises `ApiProblem`. */
export async function loadModel(name: string): Promise<void> {
	await call(api.POST('/models/load', { body: { model: name } }));
}

/**
 * What a message to the model meets. `ready`: an answer; `loading`: it is loaded already; `loads`: the message loads it;
 * `unavailable`: a refusal.
 */
export type Readiness = 'ready' | 'loading' | 'loads' | 'unavailable';

export function readinessOf({ state, canLoad }: Pick<ChatModel, 'state' | 'canLoad'>): Readiness {
	if (state === 'loaded') return 'ready';
	if (state === 'loading') return 'loading';
	return canLoad ? 'loads' : 'unavailable';
}

const ORDER: readonly Readiness[] = ['ready', 'loading', 'loads', 'unavailable'];

/** Models in the order of the list: those that answer at once first; within them by name. */
export function listed(models: readonly ChatModel[]): ChatModel[] {
	const rank = (model: ChatModel): number => ORDER.indexOf(readinessOf(model));
	return [...models].sort((one, other) => rank(one) - rank(other) || byName(one, other));
}

/** The models whose name has all words of the query, in the given order. */
export function searchModels(models: readonly ChatModel[], query: string): ChatModel[] {
	const words = fold(query).split(/\s+/).filter(Boolean);
	return models.filter(({ name }) => words.every((word) => fold(name).includes(word)));
}

/** The model of a new conversation: the one that was used last if it can answer, else the best. Null if none can. */
export function preferredModel(models: readonly ChatModel[], latest: string | null): string | null {
	const usable = listed(models).filter((model) => readinessOf(model) !== 'unavailable' && !model.isRemote);
	return (usable.find(({ name }) => name === latest) ?? usable.find(({ task }) => task === null) ?? usable[0])?.name ?? null;
}

/** Which inputs a model does not take. */
export function missingInputs(model: ChatModel, needs: readonly Input[]): Input[] {
	return needs.filter((need) => !model.inputs.includes(need));
}

/** What the gate of attachments asks of a model: its inputs; `media`: it takes no documents, and files of its own size. */
export function gateOf(model: Pick<ChatModel, 'inputs' | 'task'>): string[] {
	return model.task === null ? [...model.inputs] : [...model.inputs, 'media'];
}

/** Which of these parameters the model does not honour: a request with them is refused. */
export function unsupported(model: ChatModel, parameters: Readonly<Record<string, unknown>>): string[] {
	if (model.sampling === null || model.task !== null) return [];
	return Object.keys(parameters).filter((name) => !supports(model, name));
}

const SAMPLING = new Set(['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'presence_penalty', 'frequency_penalty', 'seed', 'stop']);

/** Whether a request to the model may have the parameter. */
export function supports(model: ChatModel, name: string): boolean {
	if (name === 'lora') return model.loras.length > 0;
	if (name === 'truncation') return model.countsTokens;
	return !SAMPLING.has(name) || model.sampling === null || model.sampling.includes(name);
}

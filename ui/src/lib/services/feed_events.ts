import type { StreamEvent } from '$lib/api/stream';
import type { components } from '$lib/api/schema';

/** The events of `GET /v1/admin/events`, and the state that follows from them: pure functions. */

type Schemas = components['schemas'];
export type Model = Schemas['AdminModel'];
export type Operation = Schemas['OperationObject'];
export type GpuMemory = Schemas['GpuMemory'];
export type Change =
	| Schemas['StateChangedEvent']
	| Schemas['CatalogueChangedEvent']
	| Schemas['ProposalChangedEvent']
	| Schemas['AlertChangedEvent'];
type AdminEvent =
	| Schemas['ModelEvent']
	| Schemas['ModelRemovedEvent']
	| Schemas['GpuMemoryEvent']
	| Schemas['OperationEvent']
	| Change;

/** So many changes are shown, the latest ones. */
export const MOST_CHANGES = 200;
/** So many operations are remembered. */
const MOST_OPERATIONS = 200;

export interface FeedState {
	models: readonly Model[];
	memory: GpuMemory | undefined;
	/** The latest state of each operation that the feed has reported. */
	operations: Readonly<Record<string, Operation>>;
	/** The latest first. */
	changes: readonly Change[];
	/** The id of the last change: what a new connection continues after. */
	after: string | undefined;
	/** The models of a connection that has begun, until it has sent all; then undefined. */
	arriving: readonly string[] | undefined;
}

export const EMPTY: FeedState = {
	models: [],
	memory: undefined,
	operations: {},
	changes: [],
	after: undefined,
	arriving: undefined
};

/** The state when a connection begins: it sends all models first, then the memory. Models that it does not send are gone. */
export function beginning(state: FeedState): FeedState {
	return { ...state, arriving: [] };
}

/** The state after an event. An event that came before, and one of an unknown type, changes nothing. */
export function afterEvent(state: FeedState, { id, data }: StreamEvent): FeedState {
	const event = data as AdminEvent;
	switch (event.type) {
		case 'model':
			return {
				...state,
				models: withModel(state.models, event.model),
				arriving: state.arriving && [...state.arriving, event.model.name]
			};
		case 'model_removed':
			return { ...state, models: state.models.filter(({ name }) => name !== event.name) };
		case 'gpu_memory': {
			const { arriving } = state;
			const models = arriving ? state.models.filter(({ name }) => arriving.includes(name)) : state.models;
			const after = id !== undefined && isLater(id, state.after) ? id : state.after;
			return { ...state, memory: event.gpu_memory, models, arriving: undefined, after };
		}
		case 'operation':
			return { ...state, operations: withOperation(state.operations, event.operation) };
		case 'state':
		case 'catalogue':
		case 'proposal':
		case 'alert':
			if (id === undefined || !isLater(id, state.after)) return state;
			return { ...state, changes: [event, ...state.changes].slice(0, MOST_CHANGES), after: id };
		default:
			return state;
	}
}

/** The models with this one in the place of its earlier row, by name. */
export function withModel(models: readonly Model[], model: Model): Model[] {
	const others = models.filter((other) => other.name !== model.name);
	return [...others, model].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function withOperation(known: FeedState['operations'], operation: Operation): Record<string, Operation> {
	const entries = Object.entries({ ...known, [operation.id]: operation });
	return Object.fromEntries(entries.slice(-MOST_OPERATIONS));
}

/** Whether the id of a Redis stream's entry, `<milliseconds>-<number>`, is later than another. */
export function isLater(id: string, than: string | undefined): boolean {
	if (than === undefined) return true;
	const [time = 0n, place = 0n] = id.split('-').map(BigInt);
	const [otherTime = 0n, otherPlace = 0n] = than.split('-').map(BigInt);
	return time > otherTime || (time === otherTime && place > otherPlace);
}

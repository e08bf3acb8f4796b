/* Words of the page of one model. */

export const model = {
	title: 'Model',
	choose: 'The address names no model. Choose one of the page',
	gone: 'There is no such model now: it was removed, or only a load had defined it, until its unload. What its engines printed is kept for a day.',
	summary: 'State',
	loadedAt: 'Loaded since',
	never: 'not loaded',
	crashes: 'Crashes lately',
	logOfFailure: 'What the engine printed',
	replicas: {
		title: 'Replicas',
		empty: 'No worker has a replica of this model.',
		worker: 'Worker',
		gpu: 'GPU',
		noGpu: 'none (CPU)',
		replica: 'Replica',
		state: 'State',
		slots: 'Slots used',
		cached: 'Prompt tokens from the cache',
		notCounted: 'none counted yet',
		logOf: (name: string) => `Engine log of the replica ${name}`,
		states: { assigned: 'waits for its worker', starting: 'starting', up: 'up', stopping: 'stopping' }
	},
	log: {
		title: 'Engine log',
		search: 'Only lines with',
		operation: 'Load',
		allOperations: 'All loads',
		replica: 'Replica',
		allReplicas: 'All replicas',
		pause: 'Pause',
		continue: 'Continue',
		paused: 'Paused: new lines are not shown.',
		follow: 'Follow the end',
		count: (shown: number, all: number, most: number) =>
			`${shown === all ? `${all}` : `${shown} of ${all}`} ${all === 1 ? 'line' : 'lines'}${all === most ? ', the latest' : ''}`,
		gap: 'Lines that came while this page did not read may be missing.',
		empty: 'The engines of this model have printed nothing within the last day.',
		emptyFilter: 'Nothing that the engine printed for this choice is kept, or it printed nothing.',
		notFound: 'No line has this text.',
		omitted: (bytes: string) => `${bytes} bytes of output were left out`,
		remote: 'The engine is a server on another machine: its log is there.'
	},
	changes: {
		title: 'Events',
		empty: 'The state of this model has not changed lately.',
		time: 'Time',
		state: 'New state',
		reason: 'Reason',
		operation: 'Load',
		logOf: (operation: string) => `Engine log of ${operation}`,
		older: 'Show older events'
	},
	requests: {
		title: 'Requests',
		empty: 'No request of this model runs or waits.',
		queue: 'The queue of this model',
		more: (count: number) => `These are the first ${count}; the others are in the queue of this model`
	},
	definition: {
		title: 'Definition',
		same: 'What is configured is in force. Secrets are hidden.',
		differs: 'The load in effect differs from the configuration in the marked fields. Secrets are hidden.',
		asked: 'The last load asked for:',
		field: 'Field',
		configured: 'Configured',
		inForce: 'In force instead',
		changed: 'differs'
	}
};

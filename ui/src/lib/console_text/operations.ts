/* Words of the list of operations and of the page of one. */

interface FlushScope {
	kind: 'all' | 'model' | 'tenant' | 'tag';
	model: string | null;
	tenant: string | null;
	tag: string | null;
}

export const operations = {
	title: 'Operations',
	columns: { name: 'Operation', memory: 'Memory', replicas: 'Replicas', actions: 'Actions' },
	kind: 'Kind',
	modelName: 'Model',
	status: 'Status',
	kinds: { load: 'Loads', unload: 'Unloads', flush: 'Flushes', download: 'Downloads', remove: 'Removals' },
	statuses: {
		open: 'under way',
		pending: 'pending',
		running: 'running',
		completed: 'completed',
		failed: 'failed',
		cancelled: 'cancelled'
	},
	empty: 'No model was added, removed, loaded or unloaded and no cache was flushed within the last day.',
	noneFound: 'No operation of the last day matches the filter.',
	older: 'Show older operations',
	named: (kind: 'load' | 'unload' | 'flush' | 'download' | 'remove', subject: string) =>
		`${{ load: 'Load', unload: 'Unload', flush: 'Flush', download: 'Download', remove: 'Removal' }[kind]} of ${subject}`,
	scope: ({ kind, model, tenant, tag }: FlushScope) => {
		if (kind === 'tag') return `the tag ${tag} of the tenant ${tenant}`;
		if (kind === 'all') return 'everything';
		return kind === 'model' ? `the model ${model}` : `the tenant ${tenant}`;
	},
	progressOf: (title: string) => `Progress: ${title}`,
	elapsed: (time: string) => `Under way for ${time}.`,
	left: (time: string) => `About ${time} left, by earlier ones.`,
	noEstimate: 'There is no estimate before the first one has ended.',
	overdue: 'It takes longer than earlier ones.',
	began: 'Began',
	ago: (time: string) => `${time} ago`,
	duration: 'Duration',
	underSecond: 'less than 1 s',
	replicas: (restores: boolean) => (restores ? 'Replicas restored' : 'Replicas'),
	requester: 'Asked for by',
	byPlatform: 'the platform',
	signedBy: (names: string) => `, signed by ${names}`,
	evicts: 'Unloads first',
	parameters: 'Parameters',
	memory: { load: 'Memory taken', unload: 'Memory freed', flush: 'Memory freed' } as Record<string, string>,
	files: 'Files deleted',
	source: 'Source',
	entries: 'Entries removed',
	reason: 'Why a number is unknown',
	context: 'Tokens of one request',
	tasks: 'Celery tasks',
	moreTasks: (count: number) => `and ${count} more`,
	noTasks: 'None: there was no engine.',
	noFlower: 'Flower, which shows tasks, does not run, or its address (flower.url) is not configured.',
	cancel: { load: 'Cancel the load', download: 'Cancel the download' } as Record<string, string>,
	cancelOf: (title: string) => `Cancel: ${title}`,
	cancelSome: (count: number) => (count === 1 ? 'Cancel one operation' : `Cancel ${count} operations`),
	cancelSomeTitle: (count: number) => (count === 1 ? 'Cancel one operation?' : `Cancel ${count} operations?`),
	cancelledSome: (count: number) => (count === 1 ? 'One operation is cancelled.' : `${count} operations are cancelled.`),
	notCancelled: (title: string, problem: string) => `${title}: ${problem}`,
	cancelTitle: (title: string) => `Cancel: ${title}?`,
	cancelEffect: 'Its engines are killed, and the model is unloaded. Requests that wait for the model fail.',
	cancelDownload: 'No model is added. What was downloaded stays, and another download continues from there.',
	cancelRestores: 'The engines that start are killed. The model stays loaded with the replicas that it has.',
	again: 'Run again',
	resume: 'Continue the download',
	resumeOf: (title: string) => `Continue: ${title}`,
	againOf: (title: string) => `Run again: ${title}`,
	againTitle: (title: string) => `Run again: ${title}?`,
	againEffect: {
		load: 'The model is loaded with the same parameters.',
		unload: 'Running requests may finish, waiting ones fail; then the engines end.',
		flush: 'What was cached until now is not used again.'
	} as Record<string, string>,
	needsProposal: 'Changes on this platform are approved here:',
	model: 'Model',
	log: 'Engine log of this load'
};

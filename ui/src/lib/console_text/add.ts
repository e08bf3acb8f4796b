/* Words of the form that adds a model. */

export const add = {
	title: 'Add a model',
	source: 'Model',
	sourceHint: 'Search the hub, or enter an id (owner/name:Q4_K_M), an address of a hub, or a path on the platform.',
	show: 'Show this model',
	found: 'Models on the hub',
	count: (count: number, most: number) =>
		count === 0 ? 'The hub has no such model.' : `${count < most ? '' : 'The first '}${count} ${count === 1 ? 'model' : 'models'} of the hub`,
	searching: 'Asking the hub',
	downloads: (count: string) => `${count} downloads`,
	likes: (count: string) => `${count} likes`,
	updated: (day: string) => `changed ${day}`,
	gated: 'needs an access token',
	choices: 'Files',
	noChoices: 'The repository has no file of a model that runs here.',
	verdicts: { fits: 'fits', fits_with_eviction: 'fits with eviction', too_large: 'too large', unknown: 'unknown' },
	needs: (size: string) => `needs ${size}`,
	free: (free: string, total: string) => `${free} of ${total} are free`,
	unloads: (models: readonly string[]) => `unloads ${models.join(', ')}`,
	name: 'Name',
	nameHint: (name: string) => `What requests call it. Left empty: ${name}`,
	settings: 'Settings',
	settingsAbout: 'What is chosen for these files on this platform, and why. Each can be changed.',
	byDefault: (value: string) => `Chosen: ${value}`,
	effect: 'What is added',
	origin: 'Source',
	files: 'Files',
	download: 'To download',
	fit: 'Memory',
	forgets: 'Deleted unless in use',
	nothing: 'nothing: the files are there',
	add: 'Add the model',
	adding: 'The download',
	added: (name: string) => `${name} is added.`,
	details: 'Its page',
	underWay: 'Models that are being added',
	staysLoaded: 'it stays loaded',
	policies: {
		on_demand: 'load: a request for the model while it is unloaded waits, and loads it; reject: it is refused',
		idle_unload_s: 'unloaded after this time without a request',
		pin: 'true: never unloaded to make room for another model'
	} as Record<string, string>,
	policy: 'When it is loaded',
	policyNames: { on_demand: 'A request while it is unloaded', idle_unload_s: 'Unloaded without a request for', pin: 'Stays loaded (pin)' } as Record<
		string,
		string
	>,
	policyOf: (name: string) => `When ${name} is loaded`,
	policyAbout: 'This changes what is registered, also for later starts. The model has to be unloaded.',
	asRegistered: (value: string) => `As registered: ${value}`,
	change: 'Change',
	save: 'Save',
	remove: 'Remove',
	removeOf: (name: string) => `Remove ${name}?`,
	removes: ({ isOfHub, source }: { isOfHub: boolean; source: string }) =>
		isOfHub
			? `The platform forgets the model. On each host the files of ${source} are deleted that the platform has downloaded and that no other model uses.`
			: `The platform forgets the model. Its files (${source}) stay: the platform has not downloaded them.`
};

import { en } from '$lib/chat_text/en';
import { doesAnswer, type ApiProblem } from '$lib/services/call';

type Right = 'read' | 'operate' | 'admin' | 'governance';

/** The roles that have a right, as docs/decisions/0061 has them. */
const ROLES_WITH: Record<Right, string> = {
	read: 'viewer',
	operate: 'operator or admin',
	admin: 'admin',
	governance: 'approver or admin'
};

interface FlushScope {
	kind: 'all' | 'model' | 'tenant' | 'tag';
	model: string | null;
	tenant: string | null;
	tag: string | null;
}

function grouped(count: number): string {
	return count.toLocaleString('en-GB');
}

/** Why the platform is not healthy, or takes no requests, by the `reason` of `/health`; another one is shown as it is. */
const HEALTH: Record<string, string | undefined> = {
	no_progress: 'the engines of all loaded models, or their workers, hang',
	out_of_memory: 'no model is served, and one failed as its device has too little memory',
	all_models_failed: 'no model is served, and at least one failed',
	starting: 'no enabled model has been loaded yet',
	draining: 'all workers are drained, or the API shuts down',
	queue_saturated: 'the queues of all models that are served are full',
	storage_unavailable: 'Redis cannot be reached',
	storage_full: 'Redis accepts no writes, as its memory or its disk is full'
};

/** All words of the pages for operators; those that they share with the chat are in `chat_text`. */
export const text = {
	product: 'Stoker',
	skip: 'Skip to the content',
	about: {
		label: 'About this platform',
		version: (version: string) => `Stoker ${version}`,
		documentation: 'API documentation',
		flower: 'Flower (tasks)',
		frozen: (since: number) =>
			`The platform has not answered since ${new Date(since).toLocaleTimeString('en-GB')}: what this page shows is of that time.`
	},
	nav: {
		label: 'Pages',
		chat: 'Chat',
		overview: 'Overview',
		models: 'Models',
		operations: 'Operations',
		workers: 'Workers',
		alerts: 'Alerts',
		queue: 'Queue',
		tenants: 'Tenants',
		account: 'Account',
		cache: 'Cache',
		approvals: 'Approvals',
		audit: 'Audit',
		requests: 'Requests',
		sessions: 'Sessions'
	},
	common: {
		loading: 'Reading from the platform',
		...en.common,
		stale: (since: Date | undefined, problem: ApiProblem | undefined) => {
			const at = since?.toLocaleTimeString('en-GB');
			return problem && doesAnswer(problem)
				? `The platform answers, but refuses: ${problem.message.replace(/\.$/, '')}. What you see ${at ? `is of ${at}` : 'may be old'}; asking again.`
				: `The connection was lost${at ? ` at ${at}` : ''}. What you see may be old; connecting again.` +
					(problem ? ` (${problem.message})` : '');
		},
		unknown: 'unknown',
		none: 'none',
		asCurl: 'As curl',
		copyCommand: 'Copy the command',
		keyOfCurl: (variable: string) => `The command reads a key with the right for this from the variable ${variable}.`
	},
	session: {
		signIn: 'Sign in',
		signOut: 'Sign out',
		key: 'API key',
		hint: 'It is sent once and not stored in this browser. The session ends after 12 hours without use.',
		usingLink: 'Signing in with your link',
		usingAnswer: 'Signing in',
		by: (provider: string) => `Sign in with ${provider}`,
		orKey: 'Or with a key:',
		person: 'Signed in as',
		rolesOf: (roles: readonly string[]) => `Roles: ${roles.join(', ')}`,
		/** Why an action is disabled. */
		mayNot: (right: Right, roles: readonly string[]) =>
			roles.length > 0
				? `This needs the role ${ROLES_WITH[right]}; you have ${roles.join(', ')}.`
				: `This needs a key with the scope ${right}.`,
		/** Above a page whose actions are disabled. */
		readsOnly: (right: Right, roles: readonly string[]) =>
			roles.length > 0
				? `You may read this page. Its changes need the role ${ROLES_WITH[right]}; you have ${roles.join(', ')}.`
				: `This key may read this page. Its changes need the scope ${right}.`,
		needed: {
			read: 'Sign in as an operator or with the key of an administrator to see this page.',
			admin: 'Sign in as an administrator to see this page.',
			inference: 'Sign in with a key of your tenant to see its limits, keys and usage.'
		},
		ownAccount: 'See the limits, keys and usage of your own tenant',
		/** Instead of a page. `isOver`: the key or the person has the right, and this session has not. */
		rightMissing: (right: Right | 'inference', roles: readonly string[], isOver: boolean) => {
			if (isOver) return 'Sign in again to see this page: this session is for the chat alone, or had no request for 30 minutes.';
			return roles.length > 0 && right !== 'inference'
				? `This page needs the role ${ROLES_WITH[right]}; you have ${roles.join(', ')}.`
				: `This page needs a key with the scope ${right}.`;
		},
		/** Before how to sign in. */
		ended: 'Your session has ended.',
		signOutFailed: 'You are still signed in: the platform did not end the session. Sign out again.',
		unreachable: 'The platform cannot be reached.'
	},

	sessions: {
		title: 'Sessions',
		empty: 'No browser is signed in.',
		notListed: (listed: number, all: number) =>
			`These are the ${listed} of ${all} sessions that were used last. The others follow when some of these are ended.`,
		columns: {
			owner: 'Person or key',
			roles: 'Roles',
			tenant: 'Tenant',
			address: 'Address',
			browser: 'Browser',
			created: 'Signed in',
			used: 'Last used',
			actions: 'Actions'
		},
		current: 'this one',
		byKey: 'by a key',
		unknownKey: 'a revoked key',
		end: 'End',
		endOf: (owner: string) => `End the session of ${owner}`,
		endFrom: (address: string, at: string) => `End the session from ${address || 'an unknown address'} of ${at}`,
		own: 'These browsers are signed in as you, or with the same key. The button Sign out ends the session of this one.',
		endOwnMeans: 'Its next request is refused, and its pages for operators end. An answer under way goes on to its end.',
		endMeans:
			'Its next request is refused, and its pages for operators end. An answer under way goes on to its end. Signing in again is ' +
			'possible: revoke the key, or change the groups of the person at the provider, to prevent that.'
	},

	// ---- tables
	table: {
		search: 'Search',
		searchIn: (label: string) => `Search in ${label}`,
		showMore: (count: number) => `Show all ${grouped(count)}`,
		some: (shown: number, found: number) => `${grouped(shown)} of ${grouped(found)}`,
		someOfFirst: (shown: number, found: number) => `${grouped(shown)} of the first ${grouped(found)}`,
		all: (title: string) => `${title}: all`,
		counted: (label: string, count: number) => `${label} (${count})`,
		count: (shown: number, all: number) => (shown === all ? grouped(all) : `${grouped(shown)} of ${grouped(all)}`),
		refused: (title: string, value: string) => `“${value}” in the address is no value of the filter “${title}”, so nothing is filtered by it.`,
		showAll: 'Show all',
		columns: 'Columns',
		sort: 'Order',
		ascending: (title: string) => `${title} ▲`,
		descending: (title: string) => `${title} ▼`,
		notFound: 'No row fits the search and the filters.',
		/** Why a row is grey that keeps its place. */
		strays: {
			hidden: 'It does not fit any more, and leaves the list when the pointer and the focus do.',
			gone: 'It is not there any more, and leaves the list when the pointer and the focus do.'
		},
		select: (name: string) => `Select ${name}`,
		selectAll: 'Select all that are shown',
		selected: (count: number) => `${count} selected`,
		clear: 'Select none',
		/** The filters of the API, for a list of which the page has a part. */
		form: { label: 'Filter', any: 'any', apply: 'Show', clear: 'Clear' },
		pages: { newest: 'Newest', newer: 'Newer', older: 'Older' }
	},

	// ---- models
	models: {
		title: 'Models',
		empty: 'No model is configured.',
		columns: {
			name: 'Model',
			state: 'State',
			replicas: 'Replicas',
			policy: 'Policy',
			slots: 'Slots',
			size: 'Size',
			quantization: 'Quantization',
			context: 'Context',
			memory: 'Memory',
			speed: 'Tokens/s',
			firstToken: 'First token p95',
			cacheHits: 'Cache hits',
			actions: 'Actions',
			file: 'File',
			input: 'Input',
			weights: 'Weights',
			cache: 'KV cache',
			cacheUse: 'KV cache in use',
			backend: 'Backend',
			configured: 'Configured',
			loaded: 'Loaded for'
		},
		policy: {
			of: (name: string) => `When ${name} is loaded:`,
			pinned: 'pinned',
			onDemand: 'on demand',
			idle: (time: string) => `idle ${time}`,
			byHand: 'by hand',
			configured: 'This model is in the configuration: these fields are set there, and count from the next start of the platform.',
			dynamic: 'This model is not registered, and its unload removes it. Add it to set these fields.',
			inUse: 'These fields can be changed while the model is not loaded. Unload it first.'
		},
		slotsWord: 'slots',
		replicasWord: 'replicas',
		waitingShort: (count: string) => `${count} waiting`,
		place: (worker: string, gpus: readonly number[]) =>
			gpus.length === 0 ? worker : `${worker} (GPU ${gpus.join(', ')})`,
		dot: (state: string, place: string) => `${state} on ${place}`,
		missing: (count: number) => (count === 1 ? '1 is missing' : `${count} are missing`),
		bulk: {
			load: (count: number) => (count === 1 ? 'Load 1 model' : `Load ${count} models`),
			unload: (count: number) => (count === 1 ? 'Unload 1 model' : `Unload ${count} models`),
			loadTitle: (count: number) => (count === 1 ? 'Load 1 model?' : `Load ${count} models?`),
			unloadTitle: (count: number) => (count === 1 ? 'Unload 1 model?' : `Unload ${count} models?`),
			loadAbout: 'Each is loaded as configured, one after the other. A plan counts its own load only: a load that no longer fits is refused.',
			unloadAbout: 'The models take no more requests. Running requests finish, waiting ones fail, then the engines end, on all workers.',
			table: 'What happens to each model',
			effect: 'What happens',
			needs: 'Needs',
			frees: 'Frees',
			time: 'Time',
			asking: 'Asking the platform',
			begins: (workers: string) => `Begins on ${workers}`,
			nothing: 'Nothing: it is loaded or loading already',
			notLoaded: 'Nothing: it is not loaded',
			refused: (reason: string) => `Refused: ${reason}`,
			failedLast: (begins: string, error: string) => `${begins}. Its last load with these settings failed: ${error}`,
			begun: 'Begun',
			sum: (size: string) => `${size} in all`
		},
		backend: 'Backend',
		configured: 'Configured',
		enabled: 'loaded at the start',
		notEnabled: 'not loaded at the start',
		dynamic: 'not configured: its unload removes it',
		registered: 'registered',
		added: (start: string) => `registered, ${start}`,
		replicas: 'Replicas (up / wanted)',
		scaling: (least: number, most: number) => `, from ${least} to ${most} by the load`,
		slots: 'Slots used',
		slotsOf: (used: number, all: number) => `${used} of ${all}`,
		queue: 'Waiting requests',
		memory: 'Memory estimate',
		context: 'Context of one request',
		tokens: (count: string) => `${count} tokens`,
		speed: 'Answer tokens per second',
		noSpeed: 'not measured',
		sources: {
			observed_load_delta: 'measured at the last load',
			model_artifact_size: 'computed from the files and the settings',
			unavailable: 'unknown'
		} as Record<string, string>,
		forReplicas: (count: number) => (count === 1 ? '1 replica' : `${count} replicas`),
		unknown: 'unknown',
		override: 'This load differs from the configuration:',
		lastError: 'Last error:',
		restart: (time: string) => `It is started again at ${time}.`,
		log: 'Engine log',
		logOf: (name: string) => `Engine log of ${name}`,
		remaining: (time: string) => `about ${time} left`,
		waiting: (count: number) =>
			count === 1 ? 'One request waits until the model is loaded.' : `${count} requests wait until the model is loaded.`,
		states: {
			loaded: 'loaded',
			loading: 'loading',
			unloading: 'unloading',
			failed: 'failed',
			unloaded: 'unloaded'
		}
	},
	// ---- the load form and the actions of a model
	load: {
		title: 'Load',
		of: (action: string, name: string) => `${action}: ${name}`,
		load: 'Load',
		repair: 'Repair',
		dismiss: 'Dismiss',
		unload: 'Unload',
		cancel: 'Cancel the load',
		explained: 'What is set here holds for this load only; the configuration does not change. A field that is left empty is as configured.',
		noFields: 'This backend has no options that a load can change.',
		repairFailed: 'The model has failed; a load tries again. The settings of its last load by request are filled in, if it had any.',
		repairMissing: (up: number, wanted: number) =>
			`${up} of ${wanted} replicas are up. A load starts the missing ones, with the settings of the load in effect; the others serve meanwhile.`,
		unsetValue: (value: string) => `As configured: ${value}`,
		changed: (value: string, before: string) => `${value}. ${before}`,
		valueIsSet: 'Changed',
		nullOf: (label: string, meaning: string) => `${label}: ${meaning}`,
		nullIs: (meaning: string) => `May be ${meaning}.`,
		back: 'Reset',
		backOf: (label: string) => `Reset: ${label}`,
		groups: {
			memory: 'Memory and context',
			speed: 'Speed',
			input: 'What requests may have',
			placement: 'Replicas and other models',
			other: 'Further settings'
		},
		fields: {
			replicas: 'Replicas',
			gguf_n_ctx: 'Context of one request',
			llama_server_n_ctx: 'Context of one request',
			vllm_max_model_len: 'Context of one request',
			exllama_cache_size: 'Cache of all requests together',
			exllama_max_rq_tokens: 'Cache that a request reserves at a time',
			exllama_cache_k_bits: 'Bits of cached keys',
			exllama_cache_v_bits: 'Bits of cached values',
			exllama_cache_quant: 'Bits of cached keys and values',
			gguf_type_k: 'Type of cached keys',
			gguf_type_v: 'Type of cached values',
			gguf_flash_attn: 'Flash attention',
			vllm_kv_cache_dtype: 'Type of the KV cache',
			vllm_kv_cache_memory_bytes: 'Size of the KV cache',
			vllm_max_pixels: 'Largest image',
			vllm_speculative_method: 'Speculative decoding',
			vllm_speculative_model: 'Model that drafts',
			vllm_num_speculative_tokens: 'Tokens drafted per step',
			llama_server_spec_type: 'Speculative decoding',
			llama_server_spec_draft_n_max: 'Tokens drafted per step',
			llama_server_spec_draft_p_min: 'Least probability of a drafted token',
			llama_server_image_max_tokens: 'Tokens of one image',
			comfyui_max_images: 'Images of one request',
			comfyui_memory_mib: 'Memory on the GPU',
			sherpa_threads: 'Processor threads',
			sherpa_max_characters: 'Longest text',
			whisper_compute_type: 'Type of the numbers',
			whisper_beam_size: 'Width of the search (beam)',
			whisper_max_seconds: 'Longest recording',
			backend: 'Backend',
			device: 'Device',
			target_inflight: 'Requests at once',
			on_demand: 'A request while it is unloaded',
			idle_unload_s: 'Unloaded without a request for',
			pin: 'Stays loaded (pin)'
		} as Record<string, string>,
		between: (from: string, to: string) => `from ${from} to ${to}`,
		atLeast: (value: string) => `at least ${value}`,
		atMost: (value: string) => `at most ${value}`,
		step: (value: string) => `in steps of ${value}`,
		default: (value: string) => `default: ${value}`,
		examples: (values: readonly string[]) => `for example ${values.join(', ')}`,
		unknownKind: (kind: string) => `This page does not know the kind “${kind}” of this field: enter its value as JSON.`,
		replicasAbout: 'copies of the model, each on one worker',
		evict: 'Unload another model first',
		evictAbout: 'Frees its memory; its running requests may finish, its waiting ones fail.',
		evictNone: 'no model',
		presets: 'Presets',
		presetsOf: (fields: readonly string[]) => fields.join(', '),
		largest: (tokens: string) => `Largest context that fits: ${tokens}`,
		largestNow: (tokens: string) => `Up to ${tokens} fit into the memory now.`,
		whole: (tokens: string) => `Largest context of the model: ${tokens}`,
		madeFor: (tokens: string) => `The model was made for ${tokens} tokens; they fit.`,
		madeForEach: (tokens: string, atOnce: number) => `The model was made for ${tokens} tokens; those of ${atOnce} requests at once fit.`,
		lastSettings: (time: string) => `Use the settings of the load of ${time}`,
		lastIsApplied: 'The settings of the last load are filled in.',
		leftOut: (names: readonly string[]) => `Not filled in, as a load from here cannot set them: ${names.join(', ')}.`,
		reset: 'All as configured',
		notProposed: (names: readonly string[]) =>
			`The link fills in the model and evictModel only. These settings are not taken along: ${names.join(', ')}. ` +
			'A proposal of a load has quantization, maxContextLength and gpuMemoryBudgetMB in their place.',
		problems: {
			empty: 'Enter a value.',
			integer: (unit: string | undefined) => (unit === 'MiB' ? 'Enter a number of MiB that is a whole number of bytes.' : 'Enter a whole number.'),
			float: 'Enter a number.',
			json: 'Enter JSON: text in quotation marks, a number, true, false, null, a list or an object.'
		},
		plan: {
			title: 'What this load does',
			reading: 'Asking the platform',
			again: 'Ask again',
			incomplete: 'Correct the fields to see what the load does.',
			refusedAt: (label: string) => `It would be refused: see “${label}”.`,
			failsAt: (label: string) => `It would begin and fail at once: see “${label}”.`,
			fits: (replicas: string, workers: string) => `It can begin: ${replicas} on ${workers}.`,
			takes: (time: string) => `It takes about ${time}, by earlier loads.`,
			nothing: 'Nothing would begin: the model is loaded or loading already.',
			refused: 'It would be refused now:',
			wouldFail: 'It would begin and fail at once:',
			lastError: (error: string) => `The last load with these settings failed: ${error}`,
			needed: 'Memory of a replica',
			part: (name: string, size: string) => `${name} ${size}`,
			context: (field: string) => `Context (${field})`,
			inForce: (count: string) => `${count} tokens`,
			capped: (inForce: string, requested: string) => `${inForce} of ${requested} tokens`,
			room: 'Room would be made by',
			unloadFirst: (name: string) => `Unload ${name} first`,
			source: (source: string) => `(${source})`,
			eta: 'Time, by earlier loads',
			etaUnknown: 'unknown: it was not loaded before',
			downloads: 'Downloads first',
			evicts: (name: string) => `Unloads ${name} first`,
			drains: (running: number, waiting: number) =>
				`${running === 1 ? '1 running request finishes' : `${running} running requests finish`}, ${waiting} waiting ${waiting === 1 ? 'one fails' : 'fail'}`,
			frees: (memory: string) => `frees ${memory}`,
			devices: 'Memory of the workers',
			otherDevices: (count: number) => (count === 1 ? 'One other worker is not shown.' : `${count} other workers are not shown.`)
		},
		bar: {
			used: 'used by others',
			promised: 'promised to other loads',
			weights: 'weights',
			cache: 'KV cache',
			other: 'buffers and libraries',
			needed: 'this load',
			freed: 'freed by the unload first',
			free: 'stays free',
			lacking: 'lacking',
			of: (total: string) => `of ${total}`,
			verdicts: {
				fits: 'fits into the memory',
				evicts: 'fits once the other model is unloaded',
				too_large: 'too large for the memory',
				unknown: 'the need is unknown',
				unused: 'not used by this load',
				ineligible: 'cannot run this model now'
			},
			evicts: (name: string) => `fits once ${name} is unloaded`,
			inShort: (worker: string, verdict: string, parts: readonly string[]) => `${worker}: ${[verdict, ...parts].join(', ')}`,
			sentence: (worker: string, verdict: string, parts: readonly string[], total: string) =>
				`${worker}: ${verdict}. ${parts.join(', ')}, of ${total} in all.`
		},
		unloading: {
			title: (name: string) => `Unload ${name}?`,
			drains: 'The model takes no more requests.',
			frees: 'Memory that it frees',
			duration: 'Time of the unload, by earlier ones',
			reload: 'Time of another load, by earlier ones',
			notBefore: 'unknown'
		}
	},

	// ---- adding a model
	add: {
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
	},

	// ---- one model
	model: {
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
	},

	// ---- operations
	operations: {
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
	},

	// ---- cache
	cache: {
		title: 'Cache',
		about:
			'Engines keep the beginnings of prompts, and reuse them for requests of the same tenant, model and tag. After a flush ' +
			'no request uses what was kept before. Running requests go on.',
		form: 'Flush',
		scope: 'What is flushed',
		scopes: { all: 'Everything', model: 'One model', tenant: 'One tenant', tag: 'One tag of a tenant' },
		scopeHints: {
			all: 'All tenants, on all models.',
			model: 'All tenants, on this model.',
			tenant: 'This tenant, on all models.',
			tag: 'The requests of the tenant with this X-Cache-Tag, on all models.'
		},
		choose: 'Choose a model',
		model: 'Model',
		tenant: 'Tenant',
		tenantHint: 'Also a name that only X-Tenant-ID has.',
		tag: 'Tag',
		tagHint: 'The value of X-Cache-Tag.',
		show: 'Show what it affects',
		effect: 'What the flush affects',
		planned: (scope: string) => `Scope of this flush: ${scope}.`,
		namespaces: (which: string) => `Cache namespaces that end: ${which}.`,
		affects: (models: number, replicas: number, running: number) =>
			`Loaded models: ${models}, with ${replicas} replicas. Running requests: ${running}; they go on.`,
		models: 'Models that the flush affects',
		replicas: 'Replicas',
		running: 'Running requests',
		noEngine: 'No engine runs that could have kept something; the flush is complete at once.',
		flush: 'Flush now',
		progress: 'The flush',
		flushed: 'The flush is complete: no request uses what was cached before.',
		removed: (count: string | undefined) => (count === undefined ? 'Entries removed: unknown' : `Entries removed: ${count}`),
		freed: (size: string | undefined) => (size === undefined ? 'Memory freed: unknown' : `Memory freed: ${size}`),
		because: (reason: string) => `Why a number is unknown: ${reason}`,
		operation: 'Operation',
		copyId: 'Copy the id of the operation',
		recent: 'Recent flushes',
		empty: 'Nothing was flushed within the last day.'
	},

	// ---- GPUs and workers
	workers: {
		title: 'GPUs and workers',
		empty: 'No worker is registered. Start one with `stoker worker`.',
		unloadAll: 'Unload all',
		unloadOn: (worker: string) => `Unload all models on ${worker}`,
		columns: {
			name: 'Worker',
			state: 'State',
			host: 'Host',
			gpus: 'GPUs',
			utilization: 'GPU use',
			temperature: 'Temperature',
			power: 'Power',
			memory: 'Memory in use',
			free: 'Free',
			replicas: 'Replicas',
			slots: 'Slots',
			heartbeat: 'Heartbeat',
			since: 'Registered for',
			stoker: 'Stoker',
			driver: 'GPU driver',
			python: 'Python',
			actions: 'Actions'
		},
		conditions: { lost: 'lost', late: 'late', drained: 'drained', stops: 'shuts down', live: 'live', away: 'not registered' },
		several: (count: number, name: string) => `${count} × ${name}`,
		replicaIs: (model: string, state: string) => `${model} ${state}`,
		memoryIs: (name: string, amount: string) => `Memory of ${name} in use: ${amount}`,
		memoryWord: 'memory',
		drainedBy: (actor: string, at: string) => `Drained by ${actor}${at ? ` since ${at}` : ''}. It gets no new requests and no replicas.`,
		lostAt: (at: string) => `It sent no heartbeat and was removed at ${at}. Its requests were queued again or failed.`,
		machine: 'Machine',
		pid: (pid: number) => `process ${pid}`,
		heartbeat: 'Last heartbeat',
		ago: (seconds: string) => `${seconds} s ago`,
		since: 'Registered since',
		requests: 'Running requests / slots',
		stoker: 'Stoker',
		python: 'Python',
		driver: 'GPU driver',
		environments: 'Environments of backends',
		memory: 'Memory',
		memoryOf: (total: string, parts: string) => `Memory of ${total}: ${parts}`,
		otherMemory: 'other programs',
		promised: 'reserved for loads',
		free: 'free',
		gpu: 'GPU',
		gpusOf: (name: string) => `GPUs of worker ${name}`,
		utilization: 'Utilisation',
		temperature: 'Temperature',
		power: 'Power',
		replicasOf: (name: string) => `Replicas on worker ${name}`,
		noReplicas: 'No model is loaded on this worker.',
		moreReplicas: (count: number) => `${count} more replicas are not listed.`,
		model: 'Model',
		state: 'State',
		engine: 'Engine',
		replicaStates: { assigned: 'assigned', starting: 'starting', up: 'up', stopping: 'stopping' },
		ready: 'accepts requests',
		closed: 'accepts no new requests',
		stalled: 'makes no progress',
		reserved: (amount: string) => `${amount} reserved`,
		drain: 'Drain',
		endDrain: 'End the drain',
		drainButton: (name: string) => `Drain ${name}`,
		endDrainButton: (name: string) => `End the drain of ${name}`,
		drainOf: (name: string) => `Drain worker ${name}?`,
		endDrainOf: (name: string) => `End the drain of worker ${name}?`,
		drainMeans: (running: number) =>
			`The worker gets no new requests and no new replicas until you end the drain, also after a restart. ` +
			`Its ${running} running ${running === 1 ? 'request finishes' : 'requests finish'}, and its models stay loaded.`,
		endDrainMeans: 'Its replicas accept requests again, and waiting requests begin at once.',
		servedHereOnly: 'No other worker serves these models now: their requests would wait, and fail after the time limit of the queue.'
	},

	// ---- queue and requests
	queue: {
		title: 'Queue',
		summary: 'By model and tenant',
		jobs: 'Jobs',
		idle: 'No job runs or waits.',
		noJobs: 'No job runs or waits that fits the filter.',
		all: 'all',
		columns: {
			job: 'Job',
			model: 'Model',
			tenant: 'Tenant',
			priority: 'Priority',
			status: 'Status',
			position: 'Position',
			waited: 'Waited',
			tokens: 'Tokens so far',
			speed: 'Speed',
			worker: 'Worker',
			replica: 'Replica',
			admitted: 'Admitted',
			running: 'Running',
			waiting: 'Waiting',
			oldest: 'Oldest wait',
			actions: 'Actions'
		},
		priorities: {
			high: 'high',
			high_background: 'high, in the background',
			normal: 'normal',
			normal_background: 'normal, in the background',
			low: 'low'
		},
		statuses: {
			queued: 'waiting',
			running: 'running',
			completed: 'completed',
			incomplete: 'incomplete',
			failed: 'failed',
			cancelled: 'cancelled'
		},
		stopping: 'stopping',
		attempt: (count: number) => `attempt ${count}`,
		place: (position: number, isEstimate: boolean) => `${isEstimate ? 'about ' : ''}${position}`,
		eta: (wait: string) => `in about ${wait}`,
		waitUnknown: 'no estimate yet',
		since: (time: string) => `since ${time}`,
		runs: (time: string) => `in ${time}`,
		perSecond: (count: string) => `${count} tokens/s`,
		ofSlots: (count: number, most: number) => `${count} of ${most}`,
		more: (count: number, all: number) =>
			`The table has the first ${grouped(count)} of ${grouped(all)} jobs. A filter, or a search for the whole id of a job, finds others.`,
		explain: (id: string) => `Details of ${id}`,
		cancelOf: (id: string) => `Cancel ${id}`,
		cancelTitle: 'Cancel this job?',
		cancelQuestion: (tenant: string, model: string, runs: boolean) =>
			`The job of ${tenant} at ${model} ${runs ? 'runs: its engine is asked to stop, and its slot is free again' : 'waits, and ends at once'}.`,
		cancelNow: 'Cancel the job',
		cancelSome: (count: number) => (count === 1 ? 'Cancel 1 job' : `Cancel ${count} jobs`),
		cancelSomeTitle: (count: number) => `Cancel ${count} jobs?`,
		cancelSomeQuestion: (waiting: number, running: number, tenants: string) =>
			[
				waiting > 0 ? `${waiting} waiting ${waiting === 1 ? 'job ends' : 'jobs end'} at once.` : '',
				running > 0 ? `${running} running ${running === 1 ? 'job is' : 'jobs are'} asked to stop, which frees the slots.` : '',
				`Jobs by tenant: ${tenants}.`
			]
				.filter(Boolean)
				.join(' '),
		cancelledSome: (ended: number, stopping: number) =>
			`${ended} ${ended === 1 ? 'job has' : 'jobs have'} ended` +
			(stopping === 0 ? '.' : `, ${stopping} running ${stopping === 1 ? 'one is' : 'ones are'} asked to stop.`),
		notCancelled: (count: number, reason: string) => `${count} of the jobs ${count === 1 ? 'was' : 'were'} not cancelled: ${reason}`,
		cancelled: (status: string) =>
			status === 'running' ? 'The engine is asked to stop the job.' : `The job has ended: ${status}.`,
		cancelAll: 'Cancel all',
		cancelAllOf: (tenant: string, model: string) => `Cancel all jobs of ${tenant} at ${model}`,
		cancelAllTitle: 'Cancel all jobs of a tenant?',
		cancelAllQuestion: (tenant: string, model: string, waiting: number, running: number) =>
			`${tenant} has ${waiting} waiting and ${running} running jobs at ${model}. The waiting ones end.`,
		alsoRunning: 'Stop the running ones, too',
		cancelAllNow: 'Cancel the jobs',
		cancelledAll: (ended: number, left: number, stopping: number) =>
			`${ended} waiting jobs have ended, ${left} end within seconds, ${stopping} running ones are asked to stop.`,
		details: 'A job, and why it waits',
		ran: 'Run time',
		deadline: 'Ends at the latest',
		estimatedWait: 'Estimated wait',
		finishReason: 'Finish reason',
		errorCode: 'Error',
		usage: 'Tokens',
		usageOf: (input: number, cached: number, output: number) => `${input} in (${cached} cached), ${output} out`,
		choice: {
			title: 'Why is the next one next?',
			waitsFor: (reason: string) => `The model's jobs: ${reason}.`,
			numbers: 'The numbers of fair share',
			number: 'Number',
			meaning: 'What it decides',
			ownTenant: (tenant: string) => `${tenant} (this job)`,
			nextTenant: (tenant: string) => `${tenant} (goes next)`,
			noTenant: 'no tenant goes next',
			runs: 'Running jobs by weight',
			runsOf: (share: string, running: number, weight: string) => `${share} (${running} running, weight ${weight})`,
			runsMean: (share: string) => `A tenant with ${share} or more is passed over: it runs its share of the slots already.`,
			runsMeanNothing: 'A tenant that runs its share of the slots already is passed over.',
			served: 'Tokens served by weight',
			servedMean: 'Of the tenants that are left, the one that was served least goes next.',
			floor: 'Level of idle tenants',
			floorMean: 'A tenant that was idle starts here, so that it does not accumulate credit.',
			skips: (priority: string, skipped: number | null, most: number) =>
				skipped === null
					? `Priority ${priority}: no job of it waits.`
					: most === 0
						? `Priority ${priority} goes first, unless a lower one was skipped too often.`
						: `Priority ${priority} was skipped ${skipped} times; it goes next after ${most}.`,
			bound: (running: number, most: number) => `The tenant runs ${running} jobs on all models, and may run ${most} at once.`,
			reserve: (oneIn: number) => `One slot in ${oneIn} is kept for tenants that run nothing on the model.`,
			backgroundReserve: (count: number) =>
				`${count === 1 ? 'The last slot is' : `The last ${count} slots are`} kept from background jobs of tenants that run jobs on the model.`,
			slots: (running: number, slots: number) => `${running} of ${slots} slots are taken.`,
			assumed: (count: number) =>
				`No slot is free before: the numbers are those after the end of ${count === 1 ? 'the oldest running job' : `the ${count} oldest running jobs`}.`
		}
	},

	// ---- tenants and keys, with their usage
	tenants: {
		title: 'Tenants and keys',
		tenants: 'Tenants',
		add: 'Add a tenant',
		withKey: 'Create a key with the scope inference for it, too',
		change: 'Change',
		changeOf: (name: string) => `Change the tenant ${name}`,
		remove: 'Remove',
		removeOf: (name: string) => `Remove the tenant ${name}`,
		removeWarning: (keys: number) =>
			(keys === 1 ? 'Its key is revoked' : `Its ${keys} keys are revoked`) +
			': no new request is accepted within a second. Requests that were accepted before run to their end. ' +
			'The name is free again when nothing of the tenant can be stored any more.',
		save: 'Save',
		create: 'Create',
		needsProposal:
			'This platform is governed: a change of tenants and keys needs signatures. ' +
			'Propose it with the command stoker op propose, and sign it on the page',
		approvals: 'Approvals',
		limits: 'Limits',
		limited: 'at a limit, or refused within 5 minutes',
		empty: 'There is no tenant.',
		inFile: 'in the configuration file',
		inFileHint: 'The configuration file sets this field; change it there.',
		inFileTenant: 'The configuration file defines this tenant. It is removed there; here you can set what the file leaves open.',
		atLimit: 'at a limit',
		columns: {
			name: 'Tenant',
			weight: 'Weight',
			rates: 'Requests and tokens',
			requests: 'Requests',
			tokens: 'Tokens',
			running: 'Running',
			waiting: 'Waiting',
			bytes: 'Stored',
			refused: 'Refused (429 and 503)',
			keys: 'Keys',
			actions: 'Actions'
		},
		noLimit: 'no limit',
		budget: {
			tokens: 'Tokens of the month',
			gpuSeconds: 'GPU-seconds of the month',
			until: (day: string, soft: string) => `anew on ${day} (UTC)${soft ? `; an alert from ${soft}` : ''}`
		},
		upTo: (priority: string) => `up to ${priority.toLowerCase()}`,
		of: (used: string, total: string) => `${used} of ${total}`,
		within: (window: string) => `within ${window}`,
		windows: { 1: 'a second', 60: 'a minute', 3600: 'an hour', 86400: 'a day' } as Record<number, string>,
		atOnce: (most: string, window: string) => `at once; ${most} within ${window}`,
		forModel: (model: string) => `for ${model}`,
		jobs: 'Show',
		jobsOf: (name: string) => `Show the requests of ${name}`,
		refusals: (status: number, code: string, recent: string, hour: string) =>
			`${status} ${code}: ${recent} in 5 minutes, ${hour} in an hour`,
		keysOf: (count: number, name: string) => `${count === 1 ? '1 key' : `${count} keys`} of ${name}`,
		fields: {
			name: 'Name',
			weight: 'Weight',
			max_priority: 'Highest priority',
			rate_limit: 'Limit of requests',
			token_limit: 'Limit of tokens',
			max_running: 'Most running requests',
			max_waiting: 'Most waiting requests of a model',
			max_streams: 'Most open streams (each API process)',
			max_readers: 'Most readers of a response (each API process)',
			max_bytes: 'Most stored bytes',
			budget_tokens: 'Tokens a month',
			budget_gpu_s: 'GPU-seconds a month',
			budget_soft: 'Soft bound of the budget',
			receipts: 'Receipts',
			may_load: 'Loads and unloads models',
			comfyui_workflows: 'Brings workflows for ComfyUI',
			keep_texts: 'Keep prompts and answers'
		},
		hints: {
			name: 'Small letters, digits, _ and -',
			weight: 'Its share while several tenants wait; empty: 1',
			rate_limit: 'Such as 100req/min (s, min, hour, day)',
			token_limit: 'Such as 20000tok/min',
			budget_tokens: 'Refused from there on; empty: no bound',
			budget_gpu_s: 'Seconds of requests in slots; empty: no bound',
			budget_soft: 'The share from which an alert fires, such as 0.8; empty: none does',
			keep_texts:
				'Yes: the history of requests has the texts of new requests, at most as long as their records. Administrators can read them, and the audit names each reader. No (the default): all kept texts of the tenant are deleted.'
		} as Record<string, string | undefined>,
		limitHint: 'Empty: as for all tenants',
		defaultChoice: 'Default',
		priorities: { high: 'High', normal: 'Normal', low: 'Low' },
		yes: 'Yes',
		no: 'No',
		nothingChanged: 'Nothing is changed yet.'
	},
	keys: {
		title: 'API keys',
		create: 'Create a key',
		ofTenant: 'Tenant',
		allTenants: 'All tenants',
		empty: 'No key is here.',
		more: 'Show more',
		onlyFirst: (count: number) => `Only the first ${count} keys are shown: choose a tenant.`,
		columns: {
			label: 'Label',
			tenant: 'Tenant',
			hint: 'Ends with',
			scopes: 'Scopes',
			models: 'Models',
			created: 'Created',
			used: 'Last used',
			expires: 'Expires',
			actions: 'Actions'
		},
		noLabel: 'no label',
		allModels: 'all',
		never: 'never',
		expired: 'expired',
		expiresSoon: 'within 7 days',
		inFile: 'in the configuration',
		revoke: 'Revoke',
		revokeOf: (label: string) => `Revoke the key ${label}`,
		revokeWarning:
			'Its next request is refused within a second, also on open connections. Requests that were accepted before run to their end. ' +
			'A revoked key cannot be restored.',
		fields: { tenant: 'Tenant', scopes: 'Scopes', models: 'Models', expires_at: 'Expires', label: 'Label' },
		scopes: {
			inference: 'inference: sends requests to models',
			read: 'read: sees the pages for operators, and changes nothing',
			operate: 'operate: loads, unloads, flushes, cancels and drains',
			admin: 'admin: changes the platform',
			metrics: 'metrics: reads measurements',
			governance: 'governance: makes and signs proposals'
		},
		modelsHint: 'Names, separated by commas; empty: all models',
		expiresHint: 'In your time zone; empty: never',
		labelHint: 'A note for people, such as the program that has the key',
		created: 'The new key',
		createMeans: 'The key works at once, and is shown once: after this form.',
		once: 'Copy the key now: it is not shown again. The platform stores only its digest.',
		copyKey: 'Copy the key'
	},
	usage: {
		title: 'Usage by day',
		range: 'Days',
		ranges: { 7: 'Last 7 days', 30: 'Last 30 days', 90: 'Last 90 days', 365: 'Last 365 days' } as Record<number, string>,
		measure: 'Show',
		measures: {
			output_tokens: 'Output tokens',
			input_tokens: 'Input tokens',
			requests: 'Requests',
			gpu_ms: 'Time in slots (s)',
			audio_seconds: 'Audio (s)',
			images: 'Images',
			pixel_steps: 'Computed pixels (width x height x steps, in millions)'
		},
		split: 'By',
		splits: { tenant: 'Tenant', model: 'Model' },
		tenant: 'Tenant',
		model: 'Model',
		all: 'All',
		rest: 'all others',
		empty: 'Nothing was used on these days.',
		chart: (what: string, first: string, last: string, total: string) =>
			`${what} by day from ${first} to ${last} (UTC), ${total} in all. The table has the numbers.`,
		bar: (day: string, name: string, value: string) => `${day}, ${name}: ${value}`,
		asTable: 'As a table',
		day: 'Day (UTC)',
		total: 'Total',
		csv: 'Download CSV',
		note: 'Requests that ended, about a second late. Kept for 400 days.'
	},

	account: {
		title: 'Account',
		of: (tenant: string) => `Tenant ${tenant}`,
		limits: 'Limits',
		now: (priority: string) => `What is used now. Requests run with priority ${priority.toLowerCase()} at most.`,
		models: (names: string) => `This key may use: ${names}.`,
		free: (time: string) => `all free again in ${time}`,
		refusals: 'Refused with 429 or 503',
		noRefusals: 'No request was refused with 429 or 503 within the last hour.',
		otherRefusals: '429: a limit was met. 503: the platform could not serve the request then. Requests that were refused with other codes are not counted here.',
		texts: 'Prompts and answers',
		keepsTexts: (keeps: boolean) =>
			keeps
				? 'The history of requests keeps the prompts and answers of this tenant, at most as long as their records. Administrators can ' +
					'read them, and the audit names each reader. Those of conversations, of batches and of requests with store: false are not kept.'
				: 'The history of requests keeps no prompts and no answers of this tenant.',
		usage: 'Usage by model and key',
		usageOf: (tenant: string) => `Usage of ${tenant} by model and key`,
		key: 'Key',
		splits: { model: 'Model', key: 'Key' },
		noKey: 'no key of its own',
		otherKeys: 'other keys',
		otherModels: 'other models',
		note: 'Requests that ended, about a second late; refused ones are not counted. Kept for 100 days, from the version on that counts it.',
		keys: 'An administrator makes and revokes keys.',
		programs: 'Programs',
		program: 'Program',
		address: 'Address',
		copyAddress: 'Copy the address',
		copyProgram: 'Copy the program',
		keyVariable: 'The programs read the key from the variable STOKER_API_KEY.',
		names: {
			curl: 'curl',
			python: 'Python, OpenAI SDK',
			javascript: 'JavaScript, OpenAI SDK',
			anthropic: 'Python, Anthropic SDK',
			claude_code: 'Claude Code',
			environment: 'Other clients of OpenAI (variables)'
		}
	},

	// ---- approvals
	approvals: {
		title: 'Approvals',
		waiting: 'Waiting for signatures',
		noneWaiting: 'No proposal waits for signatures.',
		history: 'History',
		noHistory: 'No proposal has ended yet, or none in this state.',
		olderOnes: 'Older proposals',
		status: 'Status',
		statusAny: 'all',
		statuses: {
			open: 'open',
			approved: 'approved',
			started: 'started',
			withdrawn: 'withdrawn',
			expired: 'expired',
			outdated: 'outdated'
		},
		operationStatuses: {
			pending: 'pending',
			running: 'running',
			completed: 'completed',
			failed: 'failed',
			cancelled: 'cancelled'
		},
		operations: {
			'model-load': 'Load',
			'model-unload': 'Unload',
			'cache-flush': 'Flush of caches',
			'access-change': 'Change of access',
			'model-add': 'Addition of a model',
			'model-remove': 'Removal of a model'
		},
		review: 'Review',
		reviewOf: (subject: string) => `Review the proposal for ${subject}`,
		back: 'All proposals',
		signatures: 'Signatures',
		signaturesOf: (count: number, threshold: number) => `${count} of ${threshold}`,
		signedBy: (signer: string, at: string) => `${signer}, ${at}`,
		mayStillSign: 'May still sign',
		ends: 'Time left',
		timeOver: 'it has expired',
		proposedBy: 'Proposed by',
		proposedAt: (proposer: string, at: string) => `${proposer}, ${at}`,
		ended: 'Ended',
		id: 'Proposal',
		platform: 'Platform',
		operation: 'Operation',
		bodyDigest: 'Digest of the parameters',
		planDigest: 'Digest of the plan',
		reason: 'Reason',
		result: 'Result',
		nothingToBegin: 'there was nothing to begin',
		notKnownAnyMore: 'not known any more',
		mayNotRead: 'started; this session may not read operations (scope admin)',
		parameters: 'Parameters',
		parameter: 'Parameter',
		value: 'Value',
		whatHappens: 'What will happen',
		whenProposed: 'As planned when it was proposed. Memory, requests and times move; a signature does not cover them.',
		covered: 'What must still hold at the start',
		coveredHint: 'The signatures cover it. If any of it changes before the start, the proposal is outdated and nothing is done.',
		differences: 'Differences from what runs now',
		noDifferences: 'Nothing of the definition differs from what runs now.',
		comparing: 'Comparing with what runs now',
		now: 'Now',
		afterwards: 'Afterwards',
		what: 'What',
		absent: '—',
		sameOptions: (count: number) => `${count} further options stay as they are`,
		changed: 'The proposal does not hold any more and would be outdated at its start. Changed since it was proposed:',
		cannotPlan: (message: string) => `It could not be done now: ${message}`,
		holds: 'All that the signatures cover holds now.',
		begins: { yes: 'It would begin now.', no: 'There would be nothing to begin now.' },
		problem: (message: string) => `It would be refused now: ${message}`,
		state: 'State',
		replicas: 'Replicas',
		notLoaded: 'not loaded',
		loaded: 'loaded',
		notThere: 'does not exist',
		memoryNeeded: 'Memory needed',
		memorySource: (source: string) => `(${source.replaceAll('_', ' ')})`,
		workers: 'On the workers',
		eta: 'Usual duration',
		neverMeasured: 'never measured',
		downloads: 'Downloads',
		files: 'Digests of the files',
		unloads: (model: string) => `Unloads ${model} first`,
		drains: (running: number, waiting: number) =>
			`${running} running requests may finish, ${waiting} waiting requests fail`,
		running: 'Running requests',
		waitingRequests: 'Waiting requests',
		frees: (memory: string) => `frees ${memory}`,
		flushed: 'Models whose caches are flushed',
		devices: 'Memory of the devices',
		device: { worker: 'Worker', total: 'Total', free: 'Free', promised: 'Promised', freed: 'Freed by the unload' },
		sign: {
			title: 'Sign',
			explain:
				'The signature is made in this browser, over what this page shows. The file with your key is read here, is not stored, ' +
				'and is not sent anywhere.',
			signer: 'Signer',
			file: 'File with your private key (PEM)',
			fileHint: 'The one that `stoker op keygen` has made. It never leaves this browser.',
			confirm: (word: string) => `To confirm, type ${word}`,
			confirmWrong: (word: string) => `This is not ${word}.`,
			noFile: 'Choose the file with your key.',
			noSigner: 'Choose whose key it is.',
			action: 'Sign',
			signing: 'Signing',
			done: (signer: string) => `The signature of ${signer} counts.`,
			started: 'That was the last signature: it has started.',
			outdated: (reason: string) => `Your signature was the last one, but the proposal could not start: ${reason}`,
			decided: 'The proposal was decided in the meantime.',
			insecure:
				'This page has no secure connection (https, or this machine itself), so the browser cannot sign here. Sign with the command:',
			unsupported: 'This browser cannot sign with Ed25519. Sign with the command:',
			orCommand: 'Or sign with the command:',
			command: 'The command that signs',
			copyCommand: 'Copy the command that signs',
			keyProblems: {
				tooLong: 'The file has more than 4096 bytes: it holds no key.',
				encrypted: 'The key has a password. Remove it first: openssl pkey -in key.pem -out plain.pem',
				public: 'This is a public key. Choose the file with the private one.',
				otherForm: 'The file has no private key in PEM. `stoker op keygen` makes one.',
				notEd25519: 'The key is not an Ed25519 key. `stoker op keygen` makes one.'
			},
			mismatches: {
				otherProposal: 'The platform has answered with another proposal: nothing was signed.',
				otherPlan: 'The plan that is shown is not the one that would be signed: nothing was signed.',
				otherPayload: 'What is shown is not what the platform wants to be signed: nothing was signed.',
				changed:
					'The platform has answered with another content of this proposal since you opened it, and a proposal never changes. ' +
					'Nothing was signed. Ask who runs the platform before you sign what is shown now.',
				noForm: 'The proposal has a number that browsers cannot read exactly: sign with the command.'
			}
		},
		withdraw: {
			action: 'Withdraw',
			title: 'Withdraw the proposal?',
			explain: (subject: string) => `Nothing is done about ${subject}. Whoever still wants it has to propose it again.`
		},
		propose: {
			action: 'Propose a change',
			title: 'Propose a change',
			explain: 'Nothing is done before enough signers have signed.',
			send: 'Propose',
			what: 'What is to be done',
			model: 'Model',
			quantization: 'Quantization',
			maxContextLength: 'Context length (tokens)',
			gpuMemoryBudgetMB: 'GPU memory (MiB)',
			evictModel: 'Model to unload first',
			optional: 'Left empty: as configured.',
			optionalEvict: 'Left empty: none.',
			scope: 'What is flushed',
			scopes: { all: 'everything', model: 'a model', tenant: 'a tenant', tag: 'a tag of a tenant' },
			tenant: 'Tenant',
			tag: 'Tag',
			json: 'Change (JSON)',
			jsonHints: {
				'access-change': 'Such as {"change": "set_tenant", "name": "acme", "values": {"weight": 2}}',
				'model-add': 'Such as {"source": "owner/name:Q4_K_M"}; the page Models makes it.'
			} as Record<string, string>,
			notJson: 'This is not a JSON object.',
			notInteger: 'This is not a whole number.'
		},
		toProposal: 'Propose it for signatures',
		inNav: 'wait for signatures'
	},

	// ---- requests
	requests: {
		title: 'Requests',
		table: 'Requests that have ended or were refused',
		empty: 'No request fits. A request is listed about a second after its end.',
		partly: 'The search has not come to the end of the history: go on with Older.',
		columns: {
			request: 'Request',
			time: 'Ended',
			tenant: 'Tenant',
			model: 'Model',
			api: 'Client API',
			status: 'Status',
			code: 'Error code',
			total: 'Total',
			waited: 'Waited',
			load: 'Load',
			first: 'First token',
			input: 'Input',
			cached: 'Cached',
			output: 'Output',
			dispatches: 'Runs',
			worker: 'Worker',
			priority: 'Priority',
			agent: 'Client'
		},
		since: 'Ended from',
		until: 'Ended before',
		statuses: {
			completed: 'completed',
			incomplete: 'cut off',
			failed: 'failed',
			cancelled: 'cancelled',
			refused: 'refused'
		},
		explain: (id: string) => `Details of ${id}`,
		milliseconds: (count: string) => `${count} ms`,
		seconds: (count: string) => `${count} s`,
		moved: (count: number) => `${count}, moved`,
		details: 'Request',
		timeline: 'Where the time went',
		notRun: 'It was refused before it was queued: it took no time of an engine.',
		phases: {
			load: 'Load of the model',
			queue: 'Queue',
			prompt: 'Prompt',
			answer: 'Answer',
			run: 'Run'
		},
		smallShare: '< 1 %',
		phaseHint: {
			load: 'until the replica that served it was up',
			queue: 'until it got a slot',
			prompt: 'until the first token',
			answer: 'until the last token',
			run: 'without any token'
		},
		waitHasRuns: 'The time in the queue has the run before the loss of its replica.',
		facts: 'Facts',
		client: 'Client and headers',
		ended: 'Ended',
		admitted: 'Admitted',
		httpStatus: 'HTTP status',
		finishReason: 'Finish reason',
		tokensOf: (input: string, cached: string, output: string) => `${input} in (${cached} of them cached), ${output} out`,
		tokens: 'Tokens',
		speed: 'Speed of the answer',
		runs: 'Runs',
		movedFrom: 'Lost replica',
		clientFacts: {
			requestId: 'x-request-id',
			path: 'Path',
			key: 'API key',
			userAgent: 'User-Agent',
			sdkVersion: 'Version of the SDK',
			sdkRuntime: 'Runtime of the SDK',
			retryCount: 'Retries of the SDK',
			apiVersion: 'anthropic-version',
			priority: 'X-Priority',
			timeoutMs: 'X-Request-Timeout-Ms',
			contentType: 'Content-Type',
			hasIdempotencyKey: 'Idempotency-Key'
		},
		keyGiven: 'given (not kept)',
		noClient: 'Nothing is known of the client: a line of a batch, or a request of another route.',
		content: 'Texts of errors are not kept.',
		texts: 'Prompt and answer',
		textsAbout: 'They are kept only of tenants that allow it. The audit records who reads them.',
		showTexts: 'Show texts',
		noTexts: 'No texts of this request are kept.',
		prompt: 'Prompt',
		answer: 'Answer',
		cutPrompt: 'Prompt (its beginning is cut off)',
		cutAnswer: 'Answer (its end is cut off)',
		noText: 'no text',
		ofModel: 'Requests that have ended',
		inHistory: 'Show it in the history of requests'
	},

	// ---- alerts
	alerts: {
		title: 'Alerts',
		empty: 'There is no rule.',
		inNav: 'fire unacknowledged',
		neverEvaluated: 'The rules have not been evaluated yet: the first time is within 20 seconds of the start.',
		late: (at: string) => `The rules were last evaluated at ${at}: no API process does it now, so what you see may be old.`,
		columns: {
			name: 'Rule',
			state: 'State',
			severity: 'Severity',
			since: 'Since',
			value: 'Value',
			by: 'Acknowledged by',
			condition: 'Condition (PromQL)',
			actions: 'Action'
		},
		states: {
			firing: 'firing',
			pending: 'pending',
			resolved: 'resolved',
			inactive: 'inactive',
			not_evaluated: 'by Prometheus alone'
		},
		severities: { critical: 'critical', warning: 'warning' },
		ago: (age: string) => `${age} ago`,
		instance: (state: string, since: string, isAcknowledged: boolean) =>
			`${state} since ${since}${isAcknowledged ? ', acknowledged' : ''}`,
		toModel: 'Model and log',
		toTenant: 'Tenant and usage',
		toWorkers: 'GPUs and workers',
		toTarget: 'Webhook targets',
		acknowledged: (actor: string, at: string, until: string | null) =>
			`Acknowledged by ${actor} at ${at}${until === null ? '.' : ` until ${until}.`}`,
		acknowledge: 'Acknowledge',
		acknowledgeOf: (name: string) => `Acknowledge ${name}`,
		acknowledgeMeans:
			'These alerts leave the overview until they are resolved, for all operators. One that fires later, of another model or GPU, is shown again. The audit chain records the note.',
		note: 'Note',
		noteHint: 'Such as what is being done about it; at most 500 characters.',
		duration: 'For how long',
		untilResolved: 'until they are resolved',
		hours: (hours: number) => (hours < 24 ? `${hours} ${hours === 1 ? 'hour' : 'hours'}` : `${hours / 24} ${hours === 24 ? 'day' : 'days'}`),
		end: 'Take back',
		endOf: (name: string) => `Take back the acknowledgement of ${name}`,
		endMeans: 'What fires of this rule counts as unacknowledged again, for all operators.'
	},

	// ---- webhooks
	webhooks: {
		title: 'Webhook targets',
		none: 'No webhook target is configured (webhooks.targets): the platform sends its alerts nowhere.',
		columns: {
			name: 'Target',
			state: 'State',
			waiting: 'Waiting events',
			delivered: 'Latest success',
			failed: 'Latest failure',
			lost: 'Lost events',
			actions: 'Action'
		},
		states: { fails: 'does not receive', receives: 'receives', unused: 'no event yet' },
		waiting: 'waiting',
		problem: (at: string, reason: string, since: string | null) =>
			since === null ? `The latest attempt that failed was at ${at}: ${reason}` : `Since ${since} no event has arrived. Latest attempt at ${at}: ${reason}`,
		test: 'Send a test event',
		testing: 'Sending',
		testOf: (name: string) => `Send a test event to ${name}`,
		arrived: (name: string) => `The test event has arrived at ${name}.`,
		didNotArrive: (name: string, reason: string) => `The test event did not arrive at ${name}: ${reason}`
	},

	// ---- audit
	audit: {
		title: 'Audit',
		records: 'Records of the audit chain',
		empty: 'No record fits.',
		actor: 'Actor',
		authority: 'Authority',
		action: 'Action',
		subject: 'Subject',
		outcome: 'Outcome',
		outcomes: {
			begun: 'begun',
			completed: 'completed',
			done: 'done',
			failed: 'failed',
			cancelled: 'cancelled',
			refused: 'refused'
		},
		since: 'From',
		until: 'Before',
		number: 'No.',
		time: 'Time',
		detail: 'Detail',
		partly: 'The search has not come to the end of the chain: go on with Older.',
		damaged: (numbers: string) => `Records that were changed, and cannot be read: ${numbers}. Verify the chain.`,
		download: 'Download',
		downloadHint: 'The records that fit, one per line, with the bytes of which the digests were computed.',
		downloading: (count: string) => `${count} records`,
		downloadStopped: 'The download was stopped.',
		verify: {
			title: 'Verify the chain',
			explain:
				'Each record of the chain on the platform is read, and its digest and its place are computed in this browser. ' +
				'The end has to be the one that the platform signs.',
			start: 'Verify',
			cancel: 'Cancel',
			cancelled: 'Cancelled. Nothing is known about the rest.',
			progress: 'Records verified',
			progressOf: (done: string, all: string) => `${done} of ${all} records`,
			whole: (first: number, last: number) => `Records ${first} to ${last} are one chain.`,
			empty: 'The chain has no records.',
			broken: (number: number, problem: string) => `The chain is broken at record ${number}: ${problem}`,
			digest: 'Digest of the signed record',
			signedAt: 'Signed',
			signedRecord: (number: number, at: string) => `record ${number}, ${at}`,
			key: 'Signed by the key',
			headSigned: (number: number, at: string) =>
				`The platform has signed this end, record ${number} (${at}), with the key below. Compare the time with now, and the key ` +
				'with the one that you noted earlier.',
			olderSigned: (number: number, at: string) => `What the platform has signed is an older end, record ${number} (${at}).`,
			headOfEmpty: (at: string) => `What the platform has signed (${at}) is that the chain has no records.`,
			notCovered: (first: number, last: number) =>
				first === last ? `Record ${first} is not covered by a signed head.` : `Records ${first} to ${last} are not covered by a signed head.`,
			headWrong: 'The signature of the end of the chain is not that of the key that it names.',
			headUnknown: 'The signature of the end was not verified: this browser does not know Ed25519.',
			headOf: (name: string) => `The head in ${name}:`,
			headFits: (number: number) =>
				number === 0 ? 'it is of a chain without records, and covers none of those here.' : `its record ${number} is in the chain.`,
			kept: 'Heads that you kept (optional)',
			keptHint: 'Files of `stoker audit head`: shows whether the chain was shortened or replaced since.',
			otherKey: (key: string) => `it is signed by another key than the chain now (${key}).`,
			noHead: 'it is not a signed head.',
			wrongSignature: 'its signature does not match its content.',
			saveHead: 'Save this head',
			insecure:
				'This page has no secure connection (https, or this machine itself), so the browser cannot compute digests. Use the command:',
			command: 'The command that verifies',
			copyCommand: 'Copy the command that verifies',
			problems: {
				notJson: 'it is not valid JSON',
				otherFields: 'it does not have the fields of a record',
				noForm: 'it has no canonical form',
				otherDigest: 'its digest does not match its content',
				otherBytes: 'its bytes are not the canonical form of its content',
				noNumber: 'its number is not an integer',
				tooLong: 'it is longer than any record',
				noBeginning: 'it is not the beginning of a chain',
				notFollowing: 'it does not follow the record before it: one of the two was replaced'
			},
			missing: (number: number, last: number) =>
				`it is missing${last > number ? `, and so are those to ${last}` : ''}`,
			outOfPlace: (number: number) => `record ${number} appears twice or is out of order`,
			heads: {
				shortened: (end: number, missing: number) =>
					`the chain was shortened: it ends with record ${end}, and ` +
					(missing === end + 1 ? `record ${missing} is missing` : `${end + 1} to ${missing} are missing`),
				older: (number: number, first: number) =>
					`it is of record ${number}, which is older than the first one here, ${first}: use the files of the host`,
				replaced: (number: number) => `record ${number} does not match the head: the chain was replaced`
			}
		}
	},

	// ---- overview
	overview: {
		title: 'Overview',
		reading: 'Reading the state of the platform',
		healthy: 'The platform is healthy.',
		problems: (count: number) =>
			`The platform answers requests, and ${count === 1 ? 'one thing needs' : `${count} things need`} an operator.`,
		unhealthy: (reason = 'unknown') => `The platform is not healthy: ${HEALTH[reason] ?? reason}`,
		notReady: (reason: string) => `The platform takes no new requests: ${HEALTH[reason] ?? reason}.`,
		saturated: (count: number) =>
			count === 1
				? 'The queue of one model has reached queue.saturated_at: once it is full, its requests are refused.'
				: `The queues of ${count} models have reached queue.saturated_at: once they are full, their requests are refused.`,
		modelsLoaded: 'Models loaded',
		queueDepth: 'Waiting requests',
		uptime: 'Uptime of this process',
		unreachable: 'The platform cannot be reached.',
		again: 'Try again',
		mayNot: 'This session may not see the rest of this page.',
		signInAsAnother: 'Sign in with another key',
		signInFor: 'to see what runs, what changed lately and what needs an operator.',
		needsOperator: 'Needs an operator',
		nothingToDo: 'Nothing needs an operator: no alert fires unacknowledged, no model has failed, no replica or worker is lost, no proposal waits, no worker is drained.',
		allAcknowledged: (count: number) =>
			`Nothing needs an operator that is not acknowledged; ${count === 1 ? 'one thing is' : `${count} things are`} acknowledged.`,
		partlyKnown: 'The platform answers requests; what needs an operator is not known now.',
		notReadable: (what: 'models' | 'workers' | 'alerts' | 'proposals', reason: string | undefined) =>
			`${{ models: 'The models', workers: 'The workers', alerts: 'The alerts', proposals: 'The proposals' }[what]} cannot be read${reason ? `: ${reason}` : '.'}`,
		attention: {
			kinds: { unevaluated: 'alerts', failed: 'failed', missing: 'replicas missing', lost: 'worker lost', proposals: 'approval', drained: 'drained', alert: 'alert' },
			failed: (model: string) => `Model ${model} has failed.`,
			missing: (model: string, up: number, wanted: number) => `Model ${model} has ${up} of ${wanted} replicas.`,
			restart: (at: string) => `The platform starts it again at ${at}.`,
			lost: (worker: string, at: string) => `Worker ${worker} sent no heartbeat and was removed at ${at}.`,
			proposals: (count: number, isLeast: boolean) =>
				count === 1 ? 'A proposal waits for signatures.' : `${isLeast ? 'At least ' : ''}${count} proposals wait for signatures.`,
			drained: (worker: string, actor: string, running: number) =>
				`Worker ${worker} is drained by ${actor}; ${running} ${running === 1 ? 'request runs' : 'requests run'} on it.`,
			alert: (name: string, summary: string, more: number) => `${name}: ${summary}${more > 0 ? ` (and ${more} more)` : ''}`,
			toAlerts: 'Alerts',
			toLog: 'Model and log',
			toApprovals: 'Approvals',
			toWorkers: 'Workers'
		},
		glance: {
			title: 'At a glance',
			waits: 'The request that waits longest',
			wait: (time: string, tenant: string, model: string) => `${time}: a request of ${tenant} for ${model}.`,
			why: 'Why it waits',
			nothingWaits: 'No request waits.',
			yesterday: 'Most tokens yesterday (UTC)',
			tokens: (tokens: string, share: string) => `${tokens} tokens, ${share}`,
			nothingUsed: 'No tokens were used.',
			limits: 'Closest to a limit',
			limit: (limit: 'requests' | 'tokens' | 'running' | 'waiting' | 'bytes' | 'budget', used: string, total: string) =>
				`${{ requests: 'requests', tokens: 'tokens', running: 'running', waiting: 'waiting', bytes: 'stored', budget: 'budget of the month' }[limit]}: ${used} of ${total}`,
			noLimits: 'No tenant uses anything of a limit.',
			workers: 'Workers with the least memory left',
			free: (free: string, total: string) => `${free} of ${total} free`,
			models: 'Models that are not loaded, the latest loads first',
			allLoaded: 'All models are loaded.',
			noModels: 'No models are configured.'
		},
		course: 'Over time',
		range: 'Time that the charts show',
		ranges: { '15m': '15 minutes', '1h': '1 hour', '6h': '6 hours', '24h': '24 hours', '7d': '7 days' },
		noSamples: 'There are no samples yet: the first one comes within 10 seconds.',
		charts: {
			tokens: 'Tokens per second',
			output: 'Output',
			input: 'Input',
			load: 'Requests',
			running: 'Running',
			waiting: 'Waiting',
			wait: 'Wait in the queue',
			firstToken: 'Time to the first token',
			p95: '95th percentile',
			p50: 'Median',
			refusals: (every: number) => `Refused requests in ${every < 60 ? `${every} seconds` : `${every / 60} minutes`}`,
			cache: 'Cache hit rate of prompt tokens',
			memory: (total: string) => `Memory in use of ${total}`,
			used: 'Memory in use',
			gpu: 'Utilization of the GPUs',
			everything: 'The whole platform',
			model: (name: string) => `Model ${name}`,
			tenant: (name: string) => `Tenant ${name}`
		},
		subject: 'What the charts are of',
		errors: {
			title: (range: string) => `Errors by code, the last ${range}`,
			code: 'Code',
			count: 'Errors',
			about: 'Of all requests to the API, those of these pages included. A code leads to its requests for models, which alone are in the history.',
			none: 'No request was refused, and none failed.',
			noneOfModel: 'No request failed.',
			unknown: 'Not known: nothing was counted in this time.'
		},
		chart: (title: string, range: string, values: string) => `${title}, the last ${range}. ${values}`,
		chartLine: (label: string, latest: string) => `${label}: latest ${latest}`,
		chartSum: (label: string, sum: string) => `${label}: ${sum}`,
		lastKnown: (value: string, age: string) => `last ${value} (${age} ago)`,
		noRequests: 'no requests',
		noValue: '–',
		chartTime: (title: string) => `${title}: a time`,
		inAll: (value: string) => `${value} in all`,
		latest: 'The latest values',
		atTime: (time: string, values: string) => `${time}. ${values}`,
		value: (label: string, value: string) => `${label}: ${value}`,
		most: (value: string) => `at most ${value}`,
		changes: 'What changed lately',
		noChanges: 'No model and no proposal has changed yet.',
		changed: (from: string | null, to: string) => (from ? `${from} → ${to}` : to),
		catalogue: (change: string, status: string | null) => `${change}${status ? ` ${status}` : ''}`,
		proposal: (operation: string) => `Proposal: ${operation}`
	}
};

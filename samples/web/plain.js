// A chat page over the UI message stream, without a framework. `run` opens it with #api=…&key=…
const options = new URLSearchParams(location.hash.slice(1));
const api = options.get('api'), headers = { authorization: `Bearer ${options.get('key')}`, 'content-type': 'application/json' };
const id = (sessionStorage.chat ??= options.get('chat') ?? crypto.randomUUID());
const messages = [];

// ---- The stream: chunks change the last message ----

async function* chunksOf(response) {
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n');
    rest = events.pop();
    for (const event of events) if (event.startsWith('data: {')) yield JSON.parse(event.slice(6));
  }
}

function apply(message, chunk) {
  const { parts } = message, call = parts.find(part => part.toolCallId && part.toolCallId === chunk.toolCallId);
  switch (chunk.type) {
    case 'start': message.id = chunk.messageId; break;
    case 'text-start': parts.push({ type: 'text', text: '', key: chunk.id }); break;
    case 'text-delta': parts.findLast(part => part.key === chunk.id).text += chunk.delta; break;
    case 'tool-input-available':
      parts.push({ type: `tool-${chunk.toolName}`, toolCallId: chunk.toolCallId, input: chunk.input, state: 'input-available' }); break;
    case 'tool-approval-request': Object.assign(call, { state: 'approval-requested', approval: { id: chunk.approvalId } }); break;
    case 'tool-output-available': Object.assign(call, { state: 'output-available', output: chunk.output }); break;
    case 'tool-output-error': Object.assign(call, { state: 'output-error', errorText: chunk.errorText }); break;
    case 'tool-output-denied': call.state = 'output-denied'; break;
    case 'error': parts.push({ type: 'error', text: chunk.errorText }); break;
  }
}

async function read(response, message) {
  if (!response.ok) return apply(message, { type: 'error', errorText: await response.text() }), show();
  for await (const chunk of chunksOf(response)) { apply(message, chunk); show(); }
  document.title = 'ready';
}

// ---- Requests ----

function answerOf(request) { // the message that the answer goes to
  const last = messages.at(-1);
  if (request && last?.role === 'assistant') return last;
  return messages[messages.push({ id: '', role: 'assistant', parts: [] }) - 1];
}

async function send() {
  document.title = 'busy';
  const body = JSON.stringify({ id, messages, trigger: 'submit-message' });
  await read(await fetch(api, { method: 'POST', headers, body }), answerOf(true));
}

function say(text) {
  messages.push({ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] });
  return send();
}

function decide(part, approved) {
  Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved } });
  return send();
}

// ---- The page ----

function element(name, className, text = '') {
  return Object.assign(document.createElement(name), { className, textContent: text });
}

function show() {
  document.getElementById('messages').replaceChildren(...messages.flatMap(message => message.parts.map(part => {
    if (!part.type.startsWith('tool-')) return element('p', part.type === 'error' ? 'error' : message.role, part.text);
    const box = element('p', 'tool', `${part.type.slice(5)} ${JSON.stringify(part.input)} – ${part.state} `);
    if (part.state !== 'approval-requested') return box;
    for (const [label, approved] of [['Allow', true], ['Reject', false]]) {
      const button = element('button', '', label);
      button.onclick = () => decide(part, approved);
      box.append(button);
    }
    return box;
  })));
}

document.getElementById('form').onsubmit = event => {
  event.preventDefault();
  const field = document.getElementById('text');
  if (field.value) say(field.value);
  field.value = '';
};

// A page that is loaded again: what was said, and the rest of an answer that is active.
const history = await fetch(`${api}/${id}/messages`, { headers });
if (history.ok) messages.push(...await history.json());
const active = await fetch(`${api}/${id}/stream`, { headers });
if (active.status === 200) await read(active, answerOf(false));
show();
document.title = 'ready';
if (options.get('say') && !messages.length) {
  await say(options.get('say'));
  const asked = messages.at(-1).parts.find(part => part.state === 'approval-requested');
  if (asked && options.has('approve')) await decide(asked, options.get('approve') === 'yes');
}

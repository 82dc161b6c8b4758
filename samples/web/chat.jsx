// A chat page with `useChat` of the AI SDK. `npm run build` makes chat.js of it.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

const options = new URLSearchParams(location.hash.slice(1));
const api = options.get('api'), headers = { authorization: `Bearer ${options.get('key')}` };
const id = (sessionStorage.chat ??= options.get('chat') ?? crypto.randomUUID());
const history = await fetch(`${api}/${id}/messages`, { headers });

function Part({ part, role, decide }) {
  if (part.type === 'text') return <p className={role}>{part.text}</p>;
  if (!part.type.startsWith('tool-')) return null;
  return (
    <p className="tool">
      {part.type.slice(5)} {JSON.stringify(part.input)} – {part.state}{' '}
      {part.state === 'approval-requested' && <button onClick={() => decide(part, true)}>Allow</button>}
      {part.state === 'approval-requested' && <button onClick={() => decide(part, false)}>Reject</button>}
    </p>
  );
}

function Chat({ messages: initial }) {
  const [text, setText] = useState('');
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    id,
    messages: initial,
    resume: true, // an answer that is active when the page is loaded
    transport: new DefaultChatTransport({ api, headers }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const decide = (part, approved) => addToolApprovalResponse({ id: part.approval.id, approved });
  const asked = messages.at(-1)?.parts.find(part => part.state === 'approval-requested');
  useEffect(() => { if (options.get('say') && !messages.length && status === 'ready') sendMessage({ text: options.get('say') }); }, []);
  useEffect(() => { if (asked && status === 'ready' && options.has('approve')) decide(asked, options.get('approve') === 'yes'); }, [asked?.toolCallId, status]);
  return (
    <>
      {messages.map(message => message.parts.map((part, i) => <Part key={message.id + i} part={part} role={message.role} decide={decide} />))}
      {error && <p className="error">{error.message}</p>}
      <form onSubmit={event => { event.preventDefault(); if (text) sendMessage({ text }); setText(''); }}>
        <input size="50" placeholder="Say something" value={text} onChange={event => setText(event.target.value)} /> <button>Send</button>
      </form>
    </>
  );
}

createRoot(document.getElementById('root')).render(<Chat messages={history.ok ? await history.json() : []} />);

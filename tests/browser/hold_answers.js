// Holds back the server's answers to a page until a test releases them, in any order.
(() => {
  const fetched = window.fetch.bind(window), encoder = new TextEncoder();
  const asked = new Set();  // events whose answer has not come from the server
  const answered = new Set();  // events whose answer has: it may come before the server's word that they are asked
  let joining = 0, stream = null;

  window.answers = {
    isHolding: false,
    held: [],  // each with the values that were asked for, and `release`
    isIdle: () => !joining && !asked.size,
    frames: async (number) => {
      for (let frame = 0; frame < number; frame++) {
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      }
    },
  };

  window.fetch = async (input, options) => {
    const address = String(input?.url ?? input);
    if (address.includes("/queue/join")) {
      joining++;
      try {
        const response = await fetched(input, options);
        if (response.ok) {
          const { event_id } = await response.clone().json();
          values.set(event_id, JSON.parse(options.body).data);
          if (!answered.has(event_id)) asked.add(event_id);
          stream?.resume();
        }
        return response;
      } finally {
        joining--;
      }
    }
    if (!address.includes("/queue/data")) return fetched(input, options);
    const first = await fetched(input, options);
    const body = new ReadableStream({ start: (controller) => { stream = new Stream(controller, first, address); } });
    return new Response(body, { status: first.status, headers: first.headers });
  };

  const values = new Map();

  // What the page reads. The server closes its stream once all is answered; this one stays open while an answer is held,
  // and goes on with another stream of the server if the page asks more.
  class Stream {
    constructor(controller, first, address) {
      Object.assign(this, { controller, address, held: 0, isReading: false, last: "" });
      this.read(first);
    }

    async read(response) {
      this.isReading = true;
      const reader = response.body.getReader(), decoder = new TextDecoder();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += decoder.decode(part.value, { stream: true });
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          this.take(text.slice(0, end));
          text = text.slice(end + 2);
        }
      }
      this.isReading = false;
      this.resume();
    }

    take(text) {
      const message = JSON.parse(text.replace(/^data:/, ""));
      if (message.msg === "close_stream") {
        this.last = text;
      } else if (message.msg !== "process_completed") {
        this.pass(text);
      } else {
        asked.delete(message.event_id);
        answered.add(message.event_id);
        if (!answers.isHolding) {
          this.pass(text);
          return;
        }
        this.held++;
        const own = { get asked() { return values.get(message.event_id); }, release: () => {
          answers.held.splice(answers.held.indexOf(own), 1);
          this.held--;
          this.pass(text);
          this.resume();
        } };
        answers.held.push(own);
      }
    }

    pass(text) {
      this.controller.enqueue(encoder.encode(`${text}\n\n`));
    }

    async resume() {
      if (this.isReading) return;
      if (asked.size) {
        this.isReading = true;
        this.read(await fetched(this.address));
      } else if (!this.held && stream === this) {
        stream = null;
        if (this.last) this.pass(this.last);
        this.controller.close();
      }
    }
  }
})();

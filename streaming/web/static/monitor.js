// Times tick, and the content is fetched again when the monitor says that something changed. Without this file the page
// shows the same, as of the moment it was asked for.
"use strict";
(() => {
  const status = document.getElementById("live");
  let skew = 0;

  const span = (ms) => {
    const s = Math.max(0, Math.round(ms / 1000));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 172800) return `${Math.floor(s / 3600)} h`;
    return `${Math.floor(s / 86400)} days`;
  };
  const clock = (ms) => {
    const s = Math.max(0, Math.ceil(ms / 1000));
    return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
  };
  const set = (node, text) => { if (node.textContent !== text) node.textContent = text; };

  const tick = () => {
    const now = Date.now() + skew;
    for (const node of document.querySelectorAll("time[data-ms]")) {
      node.title ||= node.textContent;
      set(node, `${span(now - node.dataset.ms)} ago`);
    }
    for (const node of document.querySelectorAll("time[data-until]")) {
      node.title ||= node.textContent;
      const left = node.dataset.until - now;
      set(node, left > 0 ? `${clock(left)} left` : "delay is over");
    }
  };

  const named = (details) => `${details.className} ${details.parentElement.textContent.slice(0, 80)}`;
  // At most once in this time: a monitor that catches up has news every second.
  const PAUSE_MS = 1500;
  const ANSWER_MS = 30_000;
  let running = false, again = false, last = -PAUSE_MS;
  const refresh = async () => {
    if (running) { again = true; return; }
    running = true;
    await new Promise((go) => setTimeout(go, Math.max(0, last + PAUSE_MS - performance.now())));
    last = performance.now();
    again = false;
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: "text/html" }, cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS),
      });
      const told = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (!answer.ok) old(told.querySelector("h1")?.textContent || `the page answers ${answer.status}`);
      else {
        const fresh = told.getElementById("main");
        const main = document.getElementById("main");
        // Nothing is taken away from under somebody who types or reads on.
        const open = new Set([...main.querySelectorAll("details[open]")].map(named));
        const typing = main.contains(document.activeElement) && document.activeElement.name ? document.activeElement : null;
        const link = document.activeElement?.closest?.("main a")?.getAttribute("href");
        const across = [...main.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
        for (const one of fresh.querySelectorAll("details"))
          if (open.has(named(one))) one.open = true;
        if (typing) fresh.querySelector(`[name=${typing.name}]`)?.replaceWith(typing);
        main.replaceChildren(...fresh.childNodes);
        main.dataset.ready = fresh.dataset.ready;
        document.querySelector("footer").replaceWith(told.querySelector("footer"));
        typing?.focus();
        if (link) [...main.querySelectorAll("a")].find((one) => one.getAttribute("href") === link)?.focus({ preventScroll: true });
        main.querySelectorAll(".scroll").forEach((one, n) => { one.scrollLeft = across[n] || 0; });
        if (events?.readyState === EventSource.OPEN) say("live", "on");
        tick();
      }
    } catch {
      // No event may come for long: what was missed is asked for again.
      if (events?.readyState === EventSource.OPEN) old("The monitor's page gives no answer.");
      else setTimeout(refresh, 5_000);
    }
    running = false;
    if (again) refresh();
  };

  const say = (text, kind) => { status.textContent = text; status.className = `chip ${kind}`; };
  // What stands here stays readable, but nobody may take it for what is now.
  const old = (why) => {
    say("not up to date", "off");
    const main = document.getElementById("main");
    const notice = main.querySelector(".old") || document.createElement("p");
    notice.className = "notice old";
    notice.setAttribute("role", "alert");
    notice.replaceChildren(Object.assign(document.createElement("strong"), { textContent: "What you see is old. " }), why);
    if (!notice.isConnected) main.prepend(notice);
    setTimeout(() => { if (notice.isConnected) refresh(); }, 5_000);
  };

  const mine = (groups) => {
    const main = document.getElementById("main").dataset;
    return main.live === "fleet" || groups.some((one) => one.cluster === main.cluster && one.group === main.group);
  };
  // A connection may look open for hours although nobody is at its other end.
  const SILENT_MS = 20_000;
  let events = null, heard = 0;
  const listen = () => {
    if (document.hidden || (events && events.readyState !== EventSource.CLOSED)) return;
    events = new EventSource("api/v1/events");
    heard = performance.now();
    events.onopen = () => {
      heard = performance.now();
      say("live", "on");
      refresh();  // what happened between the page and the connection
    };
    events.onerror = () => {
      say("connection lost, trying again", "off");
      // A browser gives up for good after an answer that is none of a stream's.
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5_000);
    };
    events.addEventListener("health", refresh);
    events.addEventListener("beat", (told) => {
      heard = performance.now();
      // It was written at a moment when the monitor was in another state.
      if (String(JSON.parse(told.data).ready) !== document.getElementById("main").dataset.ready) refresh();
    });
    events.addEventListener("changed", (told) => { if (mine(JSON.parse(told.data).groups)) refresh(); });
  };
  const watch = () => {
    if (!events || events.readyState === EventSource.CLOSED || performance.now() < heard + SILENT_MS) return;
    events.close();
    say("connection lost, trying again", "off");
    listen();
  };
  // A page that nobody looks at keeps no connection: a browser has few of them for one site. A runbook never changes.
  if (status) {
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) events?.close();
      else listen();
    });
    listen();
    setInterval(watch, 1000);
  }

  const written = document.querySelector("footer time[data-ms]");
  if (written && performance.timing) skew = Number(written.dataset.ms) - performance.timing.responseStart;
  tick();
  setInterval(tick, 1000);
})();

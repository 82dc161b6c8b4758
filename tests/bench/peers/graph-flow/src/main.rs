//! graph-flow-bench WORKLOAD [N]: the workloads of tenon-bench in graph-flow, as far as it has them.
//!
//! graph-flow has one current task and a context of named JSON values instead of channels and super-steps. Workers of
//! `par` and `fanout` are a FanOutTask, its way to run tasks in parallel; each writes its number under its own name,
//! because writes of one name are not merged. Sessions are not stored. Every result is checked in the timed section.

use async_trait::async_trait;
use graph_flow::{fanout::FanOutTask, Context, Graph, GraphBuilder, NextAction, Result, Session, Task, TaskResult};
use std::sync::Arc;
use std::time::{Duration, Instant};

const LOOPS: i64 = 1000;

fn next(last: bool) -> Result<TaskResult> {
    Ok(TaskResult::new(None, if last { NextAction::End } else { NextAction::ContinueAndExecute }))
}

/// Adds 1 to `counter`, after a pause if there is one.
struct Add {
    id: String,
    last: bool,
    pause: Option<Duration>,
}

#[async_trait]
impl Task for Add {
    fn id(&self) -> &str {
        &self.id
    }
    async fn run(&self, context: Context) -> Result<TaskResult> {
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
        }
        let counter: i64 = context.get("counter").unwrap_or(-1);
        context.set("counter", counter + 1)?;
        next(self.last)
    }
}

/// A node that does nothing: the end of `loop`.
struct Done;

#[async_trait]
impl Task for Done {
    fn id(&self) -> &str {
        "done"
    }
    async fn run(&self, _: Context) -> Result<TaskResult> {
        next(true)
    }
}

struct Worker {
    id: String,
    number: usize,
}

#[async_trait]
impl Task for Worker {
    fn id(&self) -> &str {
        &self.id
    }
    async fn run(&self, context: Context) -> Result<TaskResult> {
        context.set(self.id.clone(), self.number)?;
        next(true)
    }
}

/// Counts what the workers wrote.
struct Join {
    names: Vec<String>,
}

#[async_trait]
impl Task for Join {
    fn id(&self) -> &str {
        "join"
    }
    async fn run(&self, context: Context) -> Result<TaskResult> {
        let found = self.names.iter().enumerate().filter(|(i, name)| context.get::<usize>(name) == Some(*i)).count();
        context.set("counter", found as i64)?;
        next(true)
    }
}

fn chain(length: usize, pause_at: Option<usize>) -> Graph {
    let mut builder = GraphBuilder::new("chain");
    for i in 0..length {
        let pause = (pause_at == Some(i)).then(|| Duration::from_millis(100));
        builder = builder.add_task(Arc::new(Add { id: format!("n{i}"), last: i + 1 == length, pause }));
    }
    for i in 1..length {
        builder = builder.add_edge(format!("n{}", i - 1), format!("n{i}"));
    }
    builder.set_start_task("n0").build().expect("the graph is valid")
}

fn looping() -> Graph {
    GraphBuilder::new("loop")
        .add_task(Arc::new(Add { id: "n0".into(), last: false, pause: None }))
        .add_task(Arc::new(Done))
        .add_conditional_edge("n0", |c: &Context| c.get::<i64>("counter").unwrap_or(0) < LOOPS, "n0", "done")
        .set_start_task("n0")
        .with_max_execution_steps(1100)
        .build()
        .expect("the graph is valid")
}

fn workers(count: usize) -> Graph {
    let names: Vec<String> = (0..count).map(|i| format!("w{i}")).collect();
    let tasks: Vec<Arc<dyn Task>> =
        names.iter().enumerate().map(|(number, id)| Arc::new(Worker { id: id.clone(), number }) as Arc<dyn Task>).collect();
    let fan = FanOutTask::new("n0", tasks).with_next_action(NextAction::ContinueAndExecute);
    GraphBuilder::new("workers")
        .add_task(fan)
        .add_task(Arc::new(Join { names }))
        .add_edge("n0", "join")
        .set_start_task("n0")
        .build()
        .expect("the graph is valid")
}

async fn run(graph: &Graph, expected: i64) {
    let mut session = Session::new_from_task("s".to_string(), "n0");
    session.context.set("counter", 0).expect("a number is JSON");
    graph.execute_session(&mut session).await.expect("the run succeeds");
    let counter: i64 = session.context.get("counter").expect("there is a counter");
    assert_eq!(counter, expected, "a wrong result");
}

fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap_or(0.0) / 1024.0
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let workload = arguments.get(1).map(String::as_str).unwrap_or("");
    let n = arguments.get(2).map_or(Ok(1000), |text| text.parse::<usize>()).unwrap_or(0);
    let (graph, expected, units, warm) = match workload {
        "chain" => (chain(10, None), 10, 10, (n / 10).clamp(20, 200)),
        "seq" => (chain(3, None), 3, 1, 200),
        "loop" => (looping(), LOOPS, LOOPS as usize, 3),
        "par" => (workers(5), 5, 1, 200),
        "fanout" => (workers(100), 100, 100, 5),
        "concurrent" => (chain(3, Some(1)), 3, 1, 0),
        _ => (chain(1, None), 1, 0, 0),
    };
    if units == 0 || n == 0 {
        eprintln!("usage: graph-flow-bench chain|seq|loop|par|fanout|concurrent [N]");
        std::process::exit(2);
    }
    let graph = Arc::new(graph);
    for _ in 0..warm {
        run(&graph, expected).await;
    }
    let start = Instant::now();
    if workload == "concurrent" {
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..n {
            let graph = graph.clone();
            all.spawn(async move { run(&graph, expected).await });
        }
        while let Some(done) = all.join_next().await {
            done.expect("a run succeeds");
        }
    } else {
        for _ in 0..n {
            run(&graph, expected).await;
        }
    }
    let wall = start.elapsed().as_secs_f64();
    let line = serde_json::json!({
        "workload": workload, "n": n, "wall_s": wall, "per_unit_us": wall * 1e6 / (n * units) as f64,
        "rss_peak_mib": peak_mib(), "notes": {}
    });
    println!("{line}");
}

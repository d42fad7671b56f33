// A sidecar with kube-rs. README.md tells what all peers do.
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::GetParams;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster,
    NamedContext,
};
use kube::{Api, Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

type Failure = Box<dyn std::error::Error>;

/// The text behind "--NAME=".
fn flag(name: &str) -> Result<String, Failure> {
    let start = format!("--{name}=");
    std::env::args()
        .find_map(|word| word.strip_prefix(&start).map(str::to_owned))
        .ok_or_else(|| format!("--{name} is missing").into())
}

/// Of "5s" or "100ms".
fn duration(text: &str) -> Result<Duration, Failure> {
    Ok(match text.strip_suffix("ms") {
        Some(number) => Duration::from_millis(number.parse()?),
        None => Duration::from_secs(text.trim_end_matches('s').parse()?),
    })
}

async fn connect(namespace: &str) -> Result<Client, Failure> {
    let name = "peer".to_owned();
    let kubeconfig = Kubeconfig {
        clusters: vec![NamedCluster {
            name: name.clone(),
            cluster: Some(Cluster {
                server: Some(flag("server")?),
                certificate_authority: Some(flag("ca")?),
                ..Default::default()
            }),
            ..Default::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.clone(),
            auth_info: Some(AuthInfo {
                token_file: Some(flag("token-file")?),
                ..Default::default()
            }),
            ..Default::default()
        }],
        contexts: vec![NamedContext {
            name: name.clone(),
            context: Some(Context {
                cluster: name.clone(),
                user: Some(name.clone()),
                namespace: Some(namespace.to_owned()),
                ..Default::default()
            }),
            ..Default::default()
        }],
        current_context: Some(name),
        ..Default::default()
    };
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.read_timeout = Some(Duration::from_secs(10));
    Ok(Client::try_from(config)?)
}

/// "active" or "gone", or an error where nothing is known.
async fn ask(deployments: &Api<Deployment>, name: &str) -> Result<&'static str, kube::Error> {
    // The API server may answer from its cache.
    match deployments.get_with(name, &GetParams::at("0")).await {
        Ok(owner) if owner.spec.as_ref().and_then(|spec| spec.replicas) == Some(0) => Ok("gone"),
        Ok(_) => Ok("active"),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok("gone"),
        Err(error) => Err(error),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    if std::env::args().nth(1).as_deref() == Some("version") {
        println!("1");
        return Ok(());
    }
    let namespace = flag("namespace")?;
    let name = flag("deployment")?;
    let mut ticker = interval(duration(&flag("interval")?)?);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let deployments: Api<Deployment> = Api::namespaced(connect(&namespace).await?, &namespace);

    let mut asked = signal(SignalKind::user_defined1())?;
    let mut last = "";
    let mut polls = 0;
    loop {
        tokio::select! {
            _ = ticker.tick() => {
                match ask(&deployments, &name).await {
                    Ok(verdict) if verdict != last => {
                        println!("verdict: {verdict}");
                        last = verdict;
                    }
                    Ok(_) => {}
                    Err(error) => eprintln!("{error}"),
                }
                polls += 1;
            }
            _ = asked.recv() => println!("polls: {polls}"),
        }
    }
}

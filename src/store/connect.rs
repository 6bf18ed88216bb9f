//! Opening a store: builders, credentials from the environment, and the pace that `Retry-After` sets.

use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService, ReqwestConnector,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use super::Store;
use crate::config::StoreLocation;

/// How long one request may take to answer; a body may take longer as long as bytes come.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The longest wait a store can impose with `Retry-After`.
const LONGEST_PACE: Duration = Duration::from_secs(300);

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{location}: {reason}")]
pub struct ConnectError {
    location: String,
    reason: String,
}

/// Opens the store of a location. No request is made yet.
///
/// Credentials and endpoints come from the variables that each provider's own tools use: `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`; `GOOGLE_APPLICATION_CREDENTIALS`;
/// `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`.
///
/// # Errors
/// When a builder refuses what it found in the environment.
pub fn connect(location: &StoreLocation) -> Result<Store, ConnectError> {
    let refuse = |reason: String| ConnectError { location: location.to_string(), reason };
    let pace = Pace::default();
    let objects = open(location, &pace, 0).map_err(|error| refuse(error.to_string()))?;
    let listing = open(location, &pace, 6).map_err(|error| refuse(error.to_string()))?;
    let prefix = match location.prefix.as_str() {
        "" => None,
        prefix => Some(Key::parse(prefix).map_err(|error| refuse(error.to_string()))?),
    };
    Ok(Store { objects, listing, prefix, location: location.clone(), pace })
}

fn open(location: &StoreLocation, pace: &Pace, max_retries: usize) -> object_store::Result<Arc<dyn ObjectStore>> {
    install_crypto();
    let retry = RetryConfig {
        max_retries,
        retry_timeout: Duration::from_secs(120),
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(10),
            base: 2.0,
        },
    };
    let options = ClientOptions::new().with_timeout(REQUEST_TIMEOUT).with_connect_timeout(CONNECT_TIMEOUT);
    let connector = Paced(pace.clone());
    let bucket = location.bucket.as_str();
    Ok(match location.scheme.as_str() {
        "gs" => Arc::new(
            GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_client_options(options)
                .with_retry(retry)
                .with_http_connector(connector)
                .build()?,
        ),
        "az" => Arc::new(
            MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_client_options(options)
                .with_retry(retry)
                .with_http_connector(connector)
                .build()?,
        ),
        scheme @ ("http" | "https") => Arc::new(
            HttpBuilder::new()
                .with_url(format!("{scheme}://{bucket}"))
                .with_client_options(options.with_allow_http(true))
                .with_retry(retry)
                .with_http_connector(connector)
                .build()?,
        ),
        _ => {
            let allow_http = std::env::var("AWS_ALLOW_HTTP").is_ok_and(|value| value == "true" || value == "1");
            Arc::new(
                AmazonS3Builder::from_env()
                    .with_bucket_name(bucket)
                    .with_client_options(options.with_allow_http(allow_http))
                    .with_retry(retry)
                    .with_http_connector(connector)
                    .build()?,
            )
        }
    })
}

/// TLS by rustls with ring, chosen once a process.
fn install_crypto() {
    static INSTALLED: Once = Once::new();
    // An error says that a provider is installed already, which is as well.
    INSTALLED.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// When the next request to a store may start, because the store said so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    not_before: Arc<Mutex<Option<Instant>>>,
}

impl Pace {
    /// What is left of the wait the store asked for.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let not_before = *self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        not_before?.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero())
    }

    fn hold(&self, wait: Duration) {
        let until = Instant::now() + wait.min(LONGEST_PACE);
        let mut not_before = self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        *not_before = Some(not_before.map_or(until, |earlier| earlier.max(until)));
    }
}

#[derive(Debug)]
struct Paced(Pace);

impl HttpConnector for Paced {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(PacedService { client, pace: self.0.clone() }))
    }
}

#[derive(Debug)]
struct PacedService {
    client: HttpClient,
    pace: Pace,
}

#[async_trait]
impl HttpService for PacedService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        while let Some(wait) = self.pace.wait() {
            tokio::time::sleep(wait).await;
        }
        let response = self.client.execute(request).await?;
        if matches!(response.status().as_u16(), 429 | 503)
            && let Some(wait) = retry_after(response.headers().get("retry-after").and_then(|value| value.to_str().ok()))
        {
            self.pace.hold(wait);
        }
        Ok(response)
    }
}

/// `Retry-After` in seconds (RFC 9110 section 10.2.3). Its other form, a date, is left to the engine's own waits.
fn retry_after(value: Option<&str>) -> Option<Duration> {
    value?.trim().parse().ok().map(Duration::from_secs)
}

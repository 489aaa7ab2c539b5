//! TLS settings: certificate, key, and which clients may connect; read from files, and again on SIGHUP.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use signal_hook::consts::SIGHUP;

/// Where certificates are, and what is asked of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    /// The server's certificate in PEM form, and those between it and a root.
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    /// Certificates of those who sign clients' certificates.
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) clients: ClientCertificates,
}

/// Whether clients must have a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientCertificates {
    Required,
    /// One that a client has is checked.
    Optional,
    Ignored,
}

impl std::str::FromStr for ClientCertificates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "yes" => Ok(Self::Required),
            "optional" => Ok(Self::Optional),
            "no" => Ok(Self::Ignored),
            _ => Err("expected yes, no or optional".to_owned()),
        }
    }
}

/// What new connections with TLS are given.
pub(crate) struct Tls {
    files: Files,
    // std Mutex: held to copy a pointer, once a connection.
    config: Mutex<Arc<ServerConfig>>,
    /// A SIGHUP has come.
    is_stale: Arc<AtomicBool>,
}

impl Tls {
    /// Reads the files, and catches SIGHUP from now on.
    ///
    /// # Errors
    /// A file cannot be read, or the key is not that of the certificate.
    pub(crate) fn load(files: Files) -> anyhow::Result<Self> {
        let config = Mutex::new(Arc::new(read(&files)?));
        let is_stale = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, Arc::clone(&is_stale))?;
        Ok(Self { files, config, is_stale })
    }

    /// For the next connection.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files again where a SIGHUP has come. Connections that are there keep what they have, and so does the server
    /// where the files cannot be used.
    pub(crate) fn refresh(&self) {
        if !self.is_stale.swap(false, Ordering::Relaxed) {
            return;
        }
        match read(&self.files) {
            Ok(config) => {
                *self.config.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                tracing::info!("read the certificate in {} again", self.files.certificate.display());
            }
            Err(error) => tracing::error!("the certificate stays as it was: {error:#}"),
        }
    }
}

fn read(files: &Files) -> anyhow::Result<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .context("no version of TLS")?;
    let builder = match &files.authorities {
        Some(path) if files.clients != ClientCertificates::Ignored => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).with_context(|| cannot_use(path))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match files.clients {
                ClientCertificates::Required => verifier,
                _ => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().with_context(|| cannot_use(path))?)
        }
        _ => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::from_pem_file(&files.key).with_context(|| cannot_use(&files.key))?;
    let certificates = certificates(&files.certificate)?;
    builder.with_single_cert(certificates, key).with_context(|| {
        let (certificate, key) = (files.certificate.display(), files.key.display());
        format!("the key in {key} is not that of the certificate in {certificate}")
    })
}

fn certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path).with_context(|| cannot_use(path))?;
    let found: Vec<_> = found.collect::<Result<_, _>>().with_context(|| cannot_use(path))?;
    ensure!(!found.is_empty(), "{}: there is no certificate in PEM form", path.display());
    Ok(found)
}

fn cannot_use(path: &Path) -> String {
    format!("cannot use {}", path.display())
}

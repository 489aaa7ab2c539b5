//! The forms of all commands, in the notation of [`super`].

use crate::command::table::Id;

/// The form of a command; empty where it takes no arguments.
pub(super) fn form(id: Id) -> &'static str {
    match id {
        Id::Ping => "[message]",
        Id::Echo => "message",
        Id::Hello => {
            "[arguments{protover:integer [AUTH=username_password{username password}] [SETNAME=clientname]}]"
        }
        Id::Auth => "[username@6.0.0] password",
        Id::Select => "index:integer",
        Id::ClientSetname => "connection-name",
        Id::ClientSetinfo => "attr(LIB-NAME=libname | LIB-VER=libver)",
        Id::ClientList => {
            "[TYPE=normal_master_replica_pubsub(NORMAL | MASTER | REPLICA | PUBSUB)@5.0.0] [ID=id{client-id:integer...}@6.2.0]"
        }
        Id::ClientKill => {
            "filter(ip:port!2.8.12 | new-format([ID=client-id:integer@2.8.12] | [TYPE=normal_master_slave_pubsub(NORMAL | MASTER@3.2.0 | SLAVE | REPLICA@5.0.0 | PUBSUB)@2.8.12] | [USER=username] | [ADDR=ip:port] | [LADDR=ip:port@6.2.0] | [SKIPME=yes/no])...)"
        }
        Id::ClientReply => "on_off_skip(ON | OFF | SKIP)",
        Id::ClientNoevict => "enabled(ON | OFF)",
        Id::ClientCaching => "mode(YES | NO)",
        Id::ClientPause => "timeout:integer [mode(WRITE | ALL)@6.2.0]",
        Id::ClientTracking => {
            "status(ON | OFF) [REDIRECT=client-id:integer] [PREFIX=prefix*...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]"
        }
        Id::ClientUnblock => "client-id:integer [timeout_error(TIMEOUT | ERROR)]",
        Id::Wait => "numreplicas:integer timeout:integer",
        Id::Watch | Id::Mget | Id::Del | Id::Unlink | Id::Exists | Id::Touch => "key:key...",
        Id::Eval | Id::EvalRo => "script numkeys:integer [key:key...] [arg...]",
        Id::Evalsha | Id::EvalshaRo => "sha1 numkeys:integer [key:key...] [arg...]",
        Id::ScriptDebug => "mode(YES | SYNC | NO)",
        Id::ScriptExists => "sha1...",
        Id::ScriptFlush => "[async(ASYNC | SYNC)@6.2.0]",
        Id::ScriptLoad => "script",
        Id::Fcall | Id::FcallRo => "function numkeys:integer [key:key...] [arg...]",
        Id::FunctionDelete => "library-name",
        Id::FunctionFlush => "[async(ASYNC | SYNC)]",
        Id::FunctionList => "[LIBRARYNAME=library-name-pattern] [WITHCODE]",
        Id::CommandDocs | Id::CommandInfo => "[command-name...]",
        Id::CommandGetkeys | Id::CommandGetkeysandflags => "command arg...",
        Id::CommandList => {
            "[FILTERBY=filterby(MODULE=module-name | ACLCAT=category | PATTERN=pattern:pattern)]"
        }
        Id::ConfigGet => "parameter{parameter}...",
        Id::ConfigSet => "parameter_value{parameter value}...",
        Id::Info => "[section...]",
        Id::Flushall | Id::Flushdb => "[async(ASYNC@4.0.0 | SYNC@6.2.0)]",
        Id::Swapdb => "index1:integer index2:integer",
        Id::Shutdown => "[nosave_save(NOSAVE | SAVE)] [NOW@7.0.0] [FORCE@7.0.0] [ABORT@7.0.0]",
        Id::MemoryUsage => "key:key [SAMPLES=count:integer]",
        Id::SlowlogGet => "[count:integer]",
        Id::LatencyHistogram => "[command...]",
        Id::LatencyHistory => "event",
        Id::LatencyReset => "[event...]",
        Id::AclCat => "[categoryname]",
        Id::AclDeluser => "username...",
        Id::AclDryrun => "username command [arg...]",
        Id::AclGenpass => "[bits:integer]",
        Id::AclGetuser => "username",
        Id::AclLog => "[operation(count:integer | RESET)]",
        Id::AclSetuser => "username [rule...]",
        Id::Get
        | Id::Getdel
        | Id::Strlen
        | Id::Incr
        | Id::Decr
        | Id::Type
        | Id::Ttl
        | Id::Pttl
        | Id::Expiretime
        | Id::Pexpiretime
        | Id::Persist
        | Id::ObjectEncoding
        | Id::ObjectFreq
        | Id::ObjectIdletime
        | Id::ObjectRefcount
        | Id::Dump => "key:key",
        Id::Set => {
            "key:key value [condition(NX | XX)@2.6.12] [GET@6.2.0] [expiration(EX=seconds:integer@2.6.12 | PX=milliseconds:integer@2.6.12 | EXAT=unix-time-seconds:unix-time@6.2.0 | PXAT=unix-time-milliseconds:unix-time@6.2.0 | KEEPTTL@6.0.0)]"
        }
        Id::Setnx | Id::Getset | Id::Append => "key:key value",
        Id::Setex => "key:key seconds:integer value",
        Id::Psetex => "key:key milliseconds:integer value",
        Id::Getex => {
            "key:key [expiration(EX=seconds:integer | PX=milliseconds:integer | EXAT=unix-time-seconds:unix-time | PXAT=unix-time-milliseconds:unix-time | PERSIST)]"
        }
        Id::Mset | Id::Msetnx => "key_value{key:key value}...",
        Id::Getrange | Id::Substr => "key:key start:integer end:integer",
        Id::Setrange => "key:key offset:integer value",
        Id::Incrby => "key:key increment:integer",
        Id::Decrby => "key:key decrement:integer",
        Id::Lcs => "key1:key key2:key [LEN] [IDX] [MINMATCHLEN=len:integer] [WITHMATCHLEN]",
        Id::Incrbyfloat => "key:key increment:double",
        Id::Expire => "key:key seconds:integer [condition(NX | XX | GT | LT)@7.0.0]",
        Id::Pexpire => "key:key milliseconds:integer [condition(NX | XX | GT | LT)@7.0.0]",
        Id::Expireat => "key:key unix-time-seconds:unix-time [condition(NX | XX | GT | LT)@7.0.0]",
        Id::Pexpireat => "key:key unix-time-milliseconds:unix-time [condition(NX | XX | GT | LT)@7.0.0]",
        Id::Rename | Id::Renamenx => "key:key newkey:key#1",
        Id::Move => "key:key db:integer",
        Id::Copy => "source:key destination:key#1 [DB=destination-db:integer] [REPLACE]",
        Id::Restore => {
            "key:key ttl:integer serialized-value [REPLACE@3.0.0] [ABSTTL@5.0.0] [IDLETIME=seconds:integer@5.0.0] [FREQ=frequency:integer@5.0.0]"
        }
        Id::Keys => "pattern:pattern",
        Id::Scan => "cursor:integer [MATCH=pattern:pattern] [COUNT=count:integer] [TYPE=type@6.0.0]",
        _ => "",
    }
}

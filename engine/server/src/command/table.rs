//! Which commands are there? One table: name, arity, flags, key positions, group, summary.
//!
//! The table feeds dispatch, arity checks, `COMMAND`, `COMMAND DOCS` and the reference page, so that none of them
//! can name a command the others do not know. A sub-command is an entry of its own named `container|sub`, as in
//! Redis's own error texts.

/// Bits of [`Spec::flags`], under the names `COMMAND INFO` prints.
pub(crate) mod flag {
    /// May change a key.
    pub(crate) const WRITE: u16 = 1;
    /// Only reads keys.
    pub(crate) const READONLY: u16 = 1 << 1;
    /// Refused when memory is full and nothing may be evicted.
    pub(crate) const DENYOOM: u16 = 1 << 2;
    /// Constant or logarithmic time.
    pub(crate) const FAST: u16 = 1 << 3;
    /// Allowed before authentication.
    pub(crate) const NO_AUTH: u16 = 1 << 4;
    /// Changes or shows the server rather than data.
    pub(crate) const ADMIN: u16 = 1 << 5;
    /// Can hold up the server for long, or destroy everything.
    pub(crate) const DANGEROUS: u16 = 1 << 6;
    /// Not for scripts.
    pub(crate) const NOSCRIPT: u16 = 1 << 7;
    /// Every bit with its printed name; `DANGEROUS` is an access category, not a printed flag.
    pub(crate) const NAMES: [(u16, &str); 7] = [
        (WRITE, "write"),
        (READONLY, "readonly"),
        (DENYOOM, "denyoom"),
        (FAST, "fast"),
        (NO_AUTH, "no_auth"),
        (ADMIN, "admin"),
        (NOSCRIPT, "noscript"),
    ];
}

/// The family of a command; each has one file beside this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// About the connection itself.
    Connection,
    /// About the server.
    Server,
    /// Reads and writes values.
    String,
    /// About keys whatever they hold.
    Generic,
    /// Executes several commands as one.
    Transactions,
    /// Runs programs of clients.
    Scripting,
}

impl Group {
    /// Redis's name of the group, as `COMMAND DOCS` prints it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Server => "server",
            Self::String => "string",
            Self::Generic => "generic",
            Self::Transactions => "transactions",
            Self::Scripting => "scripting",
        }
    }
}

/// One command or sub-command.
#[derive(Debug)]
pub(crate) struct Spec {
    /// What dispatch matches on.
    pub(crate) id: Id,
    /// Lower-case name; a sub-command is `container|sub`.
    pub(crate) name: &'static str,
    /// Exact number of words, or at least `-arity` when negative.
    pub(crate) arity: i64,
    /// See [`flag`].
    pub(crate) flags: u16,
    /// First and last word that is a key and the distance between keys; zeros when there is none.
    pub(crate) keys: (i64, i64, i64),
    /// Family.
    pub(crate) group: Group,
    /// The Redis version whose behaviour this follows first had it.
    pub(crate) since: &'static str,
    /// Cost in time.
    pub(crate) complexity: &'static str,
    /// One sentence.
    pub(crate) summary: &'static str,
}

impl Spec {
    /// Whether a request of `words` words (name and sub-command name included) has a permitted length.
    pub(crate) const fn accepts(&self, words: usize) -> bool {
        let words = words as i64;
        if self.arity >= 0 { words == self.arity } else { words >= -self.arity }
    }

    /// Whether all bits of `flags` are set.
    pub(crate) const fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// Whether this is `container|sub`.
    pub(crate) fn is_sub_command(&self) -> bool {
        self.name.contains('|')
    }

    /// Whether its second word names a sub-command.
    pub(crate) const fn is_container(&self) -> bool {
        matches!(
            self.id,
            Id::Acl
                | Id::Client
                | Id::Command
                | Id::Config
                | Id::Function
                | Id::Latency
                | Id::Memory
                | Id::Object
                | Id::Script
                | Id::Slowlog
        )
    }

    /// Redis's name of the group, as `COMMAND DOCS` prints it.
    pub(crate) fn group_name(&self) -> &'static str {
        if self.id == Id::Wait { Group::Generic.name() } else { self.group.name() }
    }

    /// Since which version of Redis another command is recommended instead, and which.
    pub(crate) const fn replaced(&self) -> Option<(&'static str, &'static str)> {
        match self.id {
            Id::Getset => Some(("6.2.0", "`SET` with the `!GET` argument")),
            Id::Substr => Some(("2.0.0", "`GETRANGE`")),
            _ => None,
        }
    }

    /// The sub-commands of this command, in table order.
    pub(crate) fn sub_commands(&'static self) -> impl Iterator<Item = &'static Spec> {
        SPECS.iter().filter(|spec| spec.name.split_once('|').is_some_and(|(parent, _)| parent == self.name))
    }
}

macro_rules! commands {
    ($( $id:ident $name:literal $arity:literal [$($flag:ident)*] ($first:literal $last:literal $step:literal)
        $group:ident $since:literal $complexity:literal $summary:literal; )*) => {
        /// Every command and sub-command, closed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each variant is documented by the summary in its table row")]
        #[allow(clippy::enum_variant_names, reason = "COMMAND is the name of a command")]
        pub(crate) enum Id { $($id),* }

        /// The table; `SPECS[id as usize]` is the row of `id`.
        pub(crate) static SPECS: &[Spec] = &[ $( Spec {
            id: Id::$id,
            name: $name,
            arity: $arity,
            flags: 0 $(| flag::$flag)*,
            keys: ($first, $last, $step),
            group: Group::$group,
            since: $since,
            complexity: $complexity,
            summary: $summary,
        } ),* ];

        const NAMES: &[&str] = &[$($name),*];
    };
}

commands! {
    Ping "ping" -1 [FAST] (0 0 0) Connection "1.0.0" "O(1)" "Returns PONG, or the given message.";
    Echo "echo" 2 [FAST] (0 0 0) Connection "1.0.0" "O(1)" "Returns the given message.";
    Quit "quit" -1 [FAST NO_AUTH NOSCRIPT] (0 0 0) Connection "1.0.0" "O(1)" "Closes the connection after the pending replies are sent.";
    Hello "hello" -1 [FAST NO_AUTH NOSCRIPT] (0 0 0) Connection "6.0.0" "O(1)" "Selects RESP2 or RESP3, optionally authenticates, and returns facts about the server.";
    Auth "auth" -2 [FAST NO_AUTH NOSCRIPT] (0 0 0) Connection "1.0.0" "O(1)" "Authenticates the connection.";
    Select "select" 2 [FAST] (0 0 0) Connection "1.0.0" "O(1)" "Selects the database, 0 to 15, of the connection.";
    Reset "reset" 1 [FAST NO_AUTH NOSCRIPT] (0 0 0) Connection "6.2.0" "O(1)" "Resets the connection to its initial state.";
    Client "client" -2 [NOSCRIPT] (0 0 0) Connection "2.4.0" "Depends on the sub-command." "A container for client connection commands.";
    ClientId "client|id" 2 [NOSCRIPT] (0 0 0) Connection "5.0.0" "O(1)" "Returns the unique ID of the connection.";
    ClientGetname "client|getname" 2 [NOSCRIPT] (0 0 0) Connection "2.6.9" "O(1)" "Returns the name of the connection.";
    ClientSetname "client|setname" 3 [NOSCRIPT] (0 0 0) Connection "2.6.9" "O(1)" "Sets the name of the connection.";
    ClientSetinfo "client|setinfo" 4 [NOSCRIPT] (0 0 0) Connection "7.2.0" "O(1)" "Sets the name or version of the client library.";
    ClientInfo "client|info" 2 [NOSCRIPT] (0 0 0) Connection "6.2.0" "O(1)" "Returns information about the connection.";
    ClientList "client|list" -2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Connection "2.4.0" "O(N) with N the number of connections." "Lists the open connections.";
    ClientKill "client|kill" -3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Connection "2.4.0" "O(N) with N the number of connections." "Ends connections.";
    ClientReply "client|reply" 3 [NOSCRIPT] (0 0 0) Connection "3.2.0" "O(1)" "Chooses whether replies are sent.";
    ClientNoevict "client|no-evict" 3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Connection "7.0.0" "O(1)" "Sets whether the connection may be evicted; none is.";
    ClientCaching "client|caching" 3 [NOSCRIPT] (0 0 0) Connection "6.0.0" "O(1)" "Tells whether the keys of the next command are tracked.";
    ClientPause "client|pause" -3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Connection "2.9.50" "O(1)" "Lets requests of all clients wait for a time.";
    ClientUnpause "client|unpause" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Connection "6.2.0" "O(1)" "Ends a pause of all clients.";
    ClientGetredir "client|getredir" 2 [NOSCRIPT] (0 0 0) Connection "6.0.0" "O(1)" "Returns the connection that invalidations are sent to.";
    ClientTracking "client|tracking" -3 [NOSCRIPT] (0 0 0) Connection "6.0.0" "O(1)" "Tells the connection when keys that it has read are changed.";
    ClientTrackinginfo "client|trackinginfo" 2 [NOSCRIPT] (0 0 0) Connection "6.2.0" "O(1)" "Returns what is tracked for the connection.";
    ClientUnblock "client|unblock" -3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Connection "5.0.0" "O(1)" "Unblocks a connection; none is blocked.";
    Wait "wait" 3 [NOSCRIPT] (0 0 0) Connection "3.0.0" "O(1)" "Returns how many replicas have the connection's writes; there are none, so it does not wait.";
    ClientHelp "client|help" 2 [NOSCRIPT] (0 0 0) Connection "5.0.0" "O(1)" "Returns helpful text about the sub-commands of CLIENT.";
    Multi "multi" 1 [FAST NOSCRIPT] (0 0 0) Transactions "1.2.0" "O(1)" "Starts a transaction.";
    Exec "exec" 1 [NOSCRIPT] (0 0 0) Transactions "1.2.0" "Depends on commands in the transaction" "Executes all commands in a transaction.";
    Discard "discard" 1 [FAST NOSCRIPT] (0 0 0) Transactions "2.0.0" "O(N), when N is the number of queued commands" "Discards a transaction.";
    Watch "watch" -2 [FAST NOSCRIPT] (1 -1 1) Transactions "2.2.0" "O(1) for every key." "Monitors changes to keys to determine the execution of a transaction.";
    Unwatch "unwatch" 1 [FAST NOSCRIPT] (0 0 0) Transactions "2.2.0" "O(1)" "Forgets about watched keys of a transaction.";
    Eval "eval" -3 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "Depends on the script that is executed." "Executes a Lua script.";
    EvalRo "eval_ro" -3 [NOSCRIPT READONLY] (0 0 0) Scripting "7.0.0" "Depends on the script that is executed." "Executes a Lua script that changes nothing.";
    Evalsha "evalsha" -3 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "Depends on the script that is executed." "Executes a Lua script by its SHA1 digest.";
    EvalshaRo "evalsha_ro" -3 [NOSCRIPT READONLY] (0 0 0) Scripting "7.0.0" "Depends on the script that is executed." "Executes a Lua script that changes nothing by its SHA1 digest.";
    Script "script" -2 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "Depends on the sub-command." "A container for Lua scripts management commands.";
    ScriptDebug "script|debug" 3 [NOSCRIPT] (0 0 0) Scripting "3.2.0" "O(1)" "Sets the debug mode of scripts; only NO is served.";
    ScriptExists "script|exists" -3 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "O(N) with N the number of scripts to check." "Tells whether scripts are in the cache.";
    ScriptFlush "script|flush" -2 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "O(N) with N the number of scripts in cache." "Removes all scripts from the cache.";
    ScriptKill "script|kill" 2 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "O(1)" "Ends the script that is being executed.";
    ScriptLoad "script|load" 3 [NOSCRIPT] (0 0 0) Scripting "2.6.0" "O(N) with N the length in bytes of the script body." "Loads a script into the cache.";
    Fcall "fcall" -3 [NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Calls a function; there is none.";
    FcallRo "fcall_ro" -3 [READONLY NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Calls a function that changes nothing; there is none.";
    Function "function" -2 [] (0 0 0) Scripting "7.0.0" "Depends on the sub-command." "A container for function commands.";
    FunctionDelete "function|delete" 3 [WRITE NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Deletes a library; there is none.";
    FunctionFlush "function|flush" -2 [WRITE NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Deletes all libraries; there is none.";
    FunctionKill "function|kill" 2 [NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Ends the function that is being executed; there is none.";
    FunctionList "function|list" -2 [NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Returns the libraries; there is none.";
    FunctionStats "function|stats" 2 [NOSCRIPT] (0 0 0) Scripting "7.0.0" "O(1)" "Returns the function that is being executed, and the numbers of libraries and functions.";
    FunctionHelp "function|help" 2 [] (0 0 0) Scripting "7.0.0" "O(1)" "Returns helpful text about the sub-commands of FUNCTION.";
    ScriptHelp "script|help" 2 [NOSCRIPT] (0 0 0) Scripting "5.0.0" "O(1)" "Returns helpful text about the sub-commands of SCRIPT.";
    Command "command" -1 [] (0 0 0) Server "2.8.13" "O(N) with N the number of commands." "Returns details about all commands.";
    CommandCount "command|count" 2 [] (0 0 0) Server "2.8.13" "O(1)" "Returns the number of commands.";
    CommandDocs "command|docs" -2 [] (0 0 0) Server "7.0.0" "O(N) with N the number of commands in the request." "Returns documentation of commands.";
    CommandInfo "command|info" -2 [] (0 0 0) Server "2.8.13" "O(N) with N the number of commands in the request." "Returns arity, flags and key positions of commands.";
    CommandGetkeys "command|getkeys" -4 [] (0 0 0) Server "2.8.13" "O(N) with N the number of words." "Returns the keys of a full command.";
    CommandGetkeysandflags "command|getkeysandflags" -4 [] (0 0 0) Server "7.0.0" "O(N) with N the number of words." "Returns the keys of a full command, and what it does with each.";
    CommandList "command|list" -2 [] (0 0 0) Server "7.0.0" "O(N) with N the number of commands." "Returns the names of commands.";
    CommandHelp "command|help" 2 [] (0 0 0) Server "5.0.0" "O(1)" "Returns helpful text about the sub-commands of COMMAND.";
    Config "config" -2 [NOSCRIPT] (0 0 0) Server "2.0.0" "Depends on the sub-command." "A container for server configuration commands.";
    ConfigGet "config|get" -3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.0.0" "O(N*M) with N settings and M patterns." "Returns the values of the parameters that match the patterns.";
    ConfigSet "config|set" -4 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.0.0" "O(N) with N settings." "Sets parameters while the server runs.";
    ConfigResetstat "config|resetstat" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.0.0" "O(1)" "Resets the statistics of INFO.";
    ConfigRewrite "config|rewrite" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.8.0" "O(1)" "Writes the parameters that CONFIG SET has changed into the configuration file.";
    ConfigHelp "config|help" 2 [NOSCRIPT] (0 0 0) Server "5.0.0" "O(1)" "Returns helpful text about the sub-commands of CONFIG.";
    Info "info" -1 [DANGEROUS] (0 0 0) Server "1.0.0" "O(1)" "Returns information and statistics about the server.";
    Dbsize "dbsize" 1 [READONLY FAST] (0 0 0) Server "1.0.0" "O(1)" "Returns the number of keys of the database.";
    Flushall "flushall" -1 [WRITE DANGEROUS] (0 0 0) Server "1.0.0" "O(N) with N the number of keys." "Deletes all keys of all databases.";
    Flushdb "flushdb" -1 [WRITE DANGEROUS] (0 0 0) Server "1.0.0" "O(N) with N the number of keys." "Deletes all keys of the database.";
    Swapdb "swapdb" 3 [WRITE DANGEROUS FAST] (0 0 0) Server "4.0.0" "O(N) with N the number of watched keys." "Exchanges the keys of two databases.";
    Role "role" 1 [ADMIN DANGEROUS FAST NOSCRIPT] (0 0 0) Server "2.8.12" "O(1)" "Returns the replication role.";
    Shutdown "shutdown" -1 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "1.0.0" "O(N) with N the number of connections." "Sends the replies of what has been received, then stops the server.";
    Time "time" 1 [FAST] (0 0 0) Server "2.6.0" "O(1)" "Returns the server time in seconds and microseconds.";
    Memory "memory" -2 [] (0 0 0) Server "4.0.0" "Depends on the sub-command." "A container for memory diagnostics commands.";
    MemoryUsage "memory|usage" -3 [READONLY] (2 2 1) Server "4.0.0" "O(1)" "Returns the memory accounted for a key, in bytes.";
    MemoryStats "memory|stats" 2 [] (0 0 0) Server "4.0.0" "O(1)" "Returns details about memory usage.";
    MemoryDoctor "memory|doctor" 2 [] (0 0 0) Server "4.0.0" "O(1)" "Returns a report about memory problems.";
    MemoryPurge "memory|purge" 2 [] (0 0 0) Server "4.0.0" "O(1): it ends after 0.1 s" "Gives memory that is not needed back to the system.";
    MemoryMallocStats "memory|malloc-stats" 2 [] (0 0 0) Server "4.0.0" "O(1)" "Returns the statistics of the allocator; there are none.";
    MemoryHelp "memory|help" 2 [] (0 0 0) Server "4.0.0" "O(1)" "Returns helpful text about the sub-commands of MEMORY.";
    Lastsave "lastsave" 1 [ADMIN DANGEROUS FAST] (0 0 0) Server "1.0.0" "O(1)" "Returns when the keys were last saved to a snapshot file: when the server started, as no such file is written.";
    Slowlog "slowlog" -2 [] (0 0 0) Server "2.2.12" "Depends on the sub-command." "A container for slow log commands.";
    SlowlogGet "slowlog|get" -2 [ADMIN DANGEROUS] (0 0 0) Server "2.2.12" "O(N) with N the number of entries returned." "Returns the entries of the slow log.";
    SlowlogLen "slowlog|len" 2 [ADMIN DANGEROUS] (0 0 0) Server "2.2.12" "O(1)" "Returns the number of entries in the slow log.";
    SlowlogReset "slowlog|reset" 2 [ADMIN DANGEROUS] (0 0 0) Server "2.2.12" "O(N) with N the number of entries." "Deletes the entries of the slow log.";
    SlowlogHelp "slowlog|help" 2 [] (0 0 0) Server "6.2.0" "O(1)" "Returns helpful text about the sub-commands of SLOWLOG.";
    Latency "latency" -2 [] (0 0 0) Server "2.8.13" "Depends on the sub-command." "A container for latency monitor commands.";
    LatencyDoctor "latency|doctor" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.8.13" "O(1)" "Returns a report about the latency of commands.";
    LatencyHistogram "latency|histogram" -2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "7.0.0" "O(1)" "Returns the distribution of latencies of commands; it is not tracked.";
    LatencyHistory "latency|history" 3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.8.13" "O(1)" "Returns the latency samples of an event.";
    LatencyLatest "latency|latest" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.8.13" "O(1)" "Returns the latest latency sample of each event.";
    LatencyReset "latency|reset" -2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "2.8.13" "O(1)" "Deletes the latency samples of some or all events.";
    LatencyHelp "latency|help" 2 [] (0 0 0) Server "2.8.13" "O(1)" "Returns helpful text about the sub-commands of LATENCY.";
    Monitor "monitor" 1 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "1.0.0" "O(1)" "Shows the connection every request that is executed.";
    Acl "acl" -2 [] (0 0 0) Server "6.0.0" "Depends on the sub-command." "A container for access control list commands.";
    AclCat "acl|cat" -2 [NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of commands." "Lists the categories, or the commands of a category.";
    AclDeluser "acl|deluser" -3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of connections." "Deletes users and closes their connections.";
    AclDryrun "acl|dryrun" -4 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "7.0.0" "O(1)" "Tells whether a user may execute a command, without executing it.";
    AclGenpass "acl|genpass" -2 [NOSCRIPT] (0 0 0) Server "6.0.0" "O(1)" "Generates a random password.";
    AclGetuser "acl|getuser" 3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of rules of the user." "Returns the rules of a user.";
    AclHelp "acl|help" 2 [] (0 0 0) Server "6.0.0" "O(1)" "Returns helpful text about the sub-commands of ACL.";
    AclList "acl|list" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of users." "Lists the users with their rules.";
    AclLoad "acl|load" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(1)" "Reloads the users from a file; there is none.";
    AclLog "acl|log" -2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of entries." "Returns the latest refused requests and logins, or resets the log.";
    AclSave "acl|save" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(1)" "Saves the users to a file; there is none.";
    AclSetuser "acl|setuser" -3 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of rules." "Creates a user or changes its rules.";
    AclUsers "acl|users" 2 [ADMIN DANGEROUS NOSCRIPT] (0 0 0) Server "6.0.0" "O(N) with N the number of users." "Lists the names of the users.";
    AclWhoami "acl|whoami" 2 [NOSCRIPT] (0 0 0) Server "6.0.0" "O(1)" "Returns the user of the connection.";
    Get "get" 2 [READONLY FAST] (1 1 1) String "1.0.0" "O(1)" "Returns the string value of a key.";
    Set "set" -3 [WRITE DENYOOM] (1 1 1) String "1.0.0" "O(1)" "Sets the string value of a key, optionally under a condition and with an expiration time.";
    Setnx "setnx" 3 [WRITE DENYOOM FAST] (1 1 1) String "1.0.0" "O(1)" "Sets the string value of a key only if the key does not exist.";
    Setex "setex" 4 [WRITE DENYOOM] (1 1 1) String "2.0.0" "O(1)" "Sets the string value and the expiration time of a key in seconds.";
    Psetex "psetex" 4 [WRITE DENYOOM] (1 1 1) String "2.6.0" "O(1)" "Sets the string value and the expiration time of a key in milliseconds.";
    Getset "getset" 3 [WRITE DENYOOM FAST] (1 1 1) String "1.0.0" "O(1)" "Returns the previous string value of a key after setting it to a new value.";
    Getdel "getdel" 2 [WRITE FAST] (1 1 1) String "6.2.0" "O(1)" "Returns the string value of a key after deleting the key.";
    Getex "getex" -2 [WRITE FAST] (1 1 1) String "6.2.0" "O(1)" "Returns the string value of a key after setting its expiration time.";
    Mget "mget" -2 [READONLY FAST] (1 -1 1) String "1.0.0" "O(N) with N the number of keys." "Atomically returns the string values of one or more keys.";
    Mset "mset" -3 [WRITE DENYOOM] (1 -1 2) String "1.0.1" "O(N) with N the number of keys." "Atomically sets the string values of one or more keys.";
    Msetnx "msetnx" -3 [WRITE DENYOOM] (1 -1 2) String "1.0.1" "O(N) with N the number of keys." "Atomically sets the string values of one or more keys only if none of them exists.";
    Append "append" 3 [WRITE DENYOOM FAST] (1 1 1) String "2.0.0" "O(N) with N the length of the value." "Appends a string to the value of a key; creates the key if it does not exist.";
    Strlen "strlen" 2 [READONLY FAST] (1 1 1) String "2.2.0" "O(1)" "Returns the length of a value in bytes.";
    Getrange "getrange" 4 [READONLY] (1 1 1) String "2.4.0" "O(N) with N the length of the reply." "Returns a part of the value of a key.";
    Substr "substr" 4 [READONLY] (1 1 1) String "1.0.0" "O(N) with N the length of the reply." "Returns a part of the value of a key: GETRANGE under its old name.";
    Setrange "setrange" 4 [WRITE DENYOOM] (1 1 1) String "2.2.0" "O(N) with N the length of the value." "Overwrites a part of the value of a key; creates the key if it does not exist.";
    Incr "incr" 2 [WRITE DENYOOM FAST] (1 1 1) String "1.0.0" "O(1)" "Increments the integer value of a key by one.";
    Decr "decr" 2 [WRITE DENYOOM FAST] (1 1 1) String "1.0.0" "O(1)" "Decrements the integer value of a key by one.";
    Incrby "incrby" 3 [WRITE DENYOOM FAST] (1 1 1) String "1.0.0" "O(1)" "Increments the integer value of a key by a number.";
    Decrby "decrby" 3 [WRITE DENYOOM FAST] (1 1 1) String "1.0.0" "O(1)" "Decrements the integer value of a key by a number.";
    Lcs "lcs" -3 [READONLY] (1 2 1) String "7.0.0" "O(N*M) with N and M the lengths of both values." "Returns the longest common subsequence of two values.";
    Incrbyfloat "incrbyfloat" 3 [WRITE DENYOOM FAST] (1 1 1) String "2.6.0" "O(1)" "Increments the floating-point value of a key by a number.";
    Del "del" -2 [WRITE] (1 -1 1) Generic "1.0.0" "O(N) with N the number of keys." "Deletes one or more keys.";
    Unlink "unlink" -2 [WRITE FAST] (1 -1 1) Generic "4.0.0" "O(N) with N the number of keys." "Deletes one or more keys.";
    Exists "exists" -2 [READONLY FAST] (1 -1 1) Generic "1.0.0" "O(N) with N the number of keys." "Returns how many of the given keys exist.";
    Touch "touch" -2 [READONLY FAST] (1 -1 1) Generic "3.2.1" "O(N) with N the number of keys." "Counts as an access to the given keys, and returns how many of them exist.";
    Type "type" 2 [READONLY FAST] (1 1 1) Generic "1.0.0" "O(1)" "Returns the type of the value of a key.";
    Expire "expire" -3 [WRITE FAST] (1 1 1) Generic "1.0.0" "O(1)" "Sets the expiration time of a key in seconds.";
    Pexpire "pexpire" -3 [WRITE FAST] (1 1 1) Generic "2.6.0" "O(1)" "Sets the expiration time of a key in milliseconds.";
    Expireat "expireat" -3 [WRITE FAST] (1 1 1) Generic "1.2.0" "O(1)" "Sets the expiration time of a key to a Unix timestamp in seconds.";
    Pexpireat "pexpireat" -3 [WRITE FAST] (1 1 1) Generic "2.6.0" "O(1)" "Sets the expiration time of a key to a Unix timestamp in milliseconds.";
    Ttl "ttl" 2 [READONLY FAST] (1 1 1) Generic "1.0.0" "O(1)" "Returns the remaining time to live of a key in seconds.";
    Pttl "pttl" 2 [READONLY FAST] (1 1 1) Generic "2.6.0" "O(1)" "Returns the remaining time to live of a key in milliseconds.";
    Expiretime "expiretime" 2 [READONLY FAST] (1 1 1) Generic "7.0.0" "O(1)" "Returns the expiration time of a key as a Unix timestamp in seconds.";
    Pexpiretime "pexpiretime" 2 [READONLY FAST] (1 1 1) Generic "7.0.0" "O(1)" "Returns the expiration time of a key as a Unix timestamp in milliseconds.";
    Persist "persist" 2 [WRITE FAST] (1 1 1) Generic "2.2.0" "O(1)" "Removes the expiration time of a key.";
    Rename "rename" 3 [WRITE] (1 2 1) Generic "1.0.0" "O(1)" "Renames a key and overwrites the destination.";
    Renamenx "renamenx" 3 [WRITE FAST] (1 2 1) Generic "1.0.0" "O(1)" "Renames a key only if the destination does not exist.";
    Move "move" 3 [WRITE FAST] (1 1 1) Generic "1.0.0" "O(N) with N the length of the value." "Moves a key to another database.";
    Copy "copy" -3 [WRITE DENYOOM] (1 2 1) Generic "6.2.0" "O(N) with N the length of the value." "Copies a value and its expiration time to another key.";
    Randomkey "randomkey" 1 [READONLY] (0 0 0) Generic "1.0.0" "O(1)" "Returns a random key.";
    Object "object" -2 [] (0 0 0) Generic "2.2.3" "Depends on the sub-command." "A container for commands about how values are held.";
    ObjectEncoding "object|encoding" 3 [READONLY] (2 2 1) Generic "2.2.3" "O(1)" "Returns the form in which Redis would hold the value of a key.";
    ObjectFreq "object|freq" 3 [READONLY] (2 2 1) Generic "4.0.0" "O(1)" "Returns the logarithmic access counter of a key, under an LFU policy.";
    ObjectIdletime "object|idletime" 3 [READONLY] (2 2 1) Generic "2.2.3" "O(1)" "Returns the time since the last access to a key; it is not tracked.";
    ObjectRefcount "object|refcount" 3 [READONLY] (2 2 1) Generic "2.2.3" "O(1)" "Returns how many keys share the value of a key.";
    ObjectHelp "object|help" 2 [] (0 0 0) Generic "6.2.0" "O(1)" "Returns helpful text about the sub-commands of OBJECT.";
    Dump "dump" 2 [READONLY] (1 1 1) Generic "2.6.0" "O(N) with N the length of the value." "Returns the value of a key in the form that RESTORE takes.";
    Restore "restore" -4 [WRITE DENYOOM DANGEROUS] (1 1 1) Generic "2.6.0" "O(N) with N the length of the value." "Creates a key from what DUMP returned.";
    Keys "keys" 2 [READONLY DANGEROUS] (0 0 0) Generic "1.0.0" "O(N) with N the number of keys." "Returns all keys that match a pattern.";
    Scan "scan" -2 [READONLY] (0 0 0) Generic "2.8.0" "O(1) per call, O(N) for a full iteration." "Iterates over the keys: returns some of them and the next cursor.";
}

/// Rows of the table.
pub(crate) const COUNT: usize = NAMES.len();

/// The row of `id`.
pub(crate) fn spec(id: Id) -> &'static Spec {
    &SPECS[id as usize]
}

/// Commands that are not sub-commands, in table order.
pub(crate) fn commands() -> impl Iterator<Item = &'static Spec> {
    SPECS.iter().filter(|spec| !spec.is_sub_command())
}

/// Finds a command by name, in any case. About five nanoseconds: one multiplication, one comparison of names.
pub(crate) fn find(name: &[u8]) -> Option<&'static Spec> {
    // The two that nearly every request asks for.
    match name {
        [b'g' | b'G', b'e' | b'E', b't' | b'T'] => return Some(&SPECS[Id::Get as usize]),
        [b's' | b'S', b'e' | b'E', b't' | b'T'] => return Some(&SPECS[Id::Set as usize]),
        _ => {}
    }
    let mut slot = hash(name);
    loop {
        let index = SLOTS[slot];
        if index == EMPTY {
            return None;
        }
        let spec = &SPECS[index as usize];
        if spec.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(spec);
        }
        slot = (slot + 1) % SLOTS.len();
    }
}

/// Finds `sub` among the sub-commands of `container`, in any case.
pub(crate) fn find_sub_command(container: &'static Spec, sub: &[u8]) -> Option<&'static Spec> {
    container.sub_commands().find(|spec| {
        spec.name.split_once('|').is_some_and(|(_, name)| name.as_bytes().eq_ignore_ascii_case(sub))
    })
}

/// Finds what a request is for: a command, or a sub-command of a container.
pub(crate) fn find_of_request(words: &[&[u8]]) -> Option<&'static Spec> {
    let spec = find(words.first()?)?;
    match words.get(1) {
        Some(sub) if spec.is_container() => find_sub_command(spec, sub),
        _ => Some(spec),
    }
}

/// Finds `get` or `client|id`, as `COMMAND INFO` and `COMMAND DOCS` are asked.
pub(crate) fn find_full(name: &[u8]) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.name.as_bytes().eq_ignore_ascii_case(name))
}

const EMPTY: u8 = u8::MAX;

/// Open addressing with linear probing, built by the compiler; four slots an entry keep almost every name at home.
static SLOTS: [u8; 256] = build();

const fn build() -> [u8; 256] {
    let mut slots = [EMPTY; 256];
    let mut index = 0;
    while index < NAMES.len() {
        let name = NAMES[index].as_bytes();
        if !contains(name, b'|') {
            let mut slot = hash(name);
            while slots[slot] != EMPTY {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = index as u8;
        }
        index += 1;
    }
    slots
}

const fn contains(name: &[u8], wanted: u8) -> bool {
    let mut at = 0;
    while at < name.len() {
        if name[at] == wanted {
            return true;
        }
        at += 1;
    }
    false
}

/// Case-insensitive for letters: bit 5 is what tells `a` from `A`. A long word costs no more than its first 12 bytes.
const fn hash(name: &[u8]) -> usize {
    let mut word = name.len() as u64;
    let mut at = 0;
    while at < name.len() && at < 12 {
        word = word.rotate_left(6) ^ (name[at] | 0x20) as u64;
        at += 1;
    }
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case_and_nothing_else_is() {
        for spec in commands() {
            assert_eq!(find(spec.name.as_bytes()).map(|found| found.id), Some(spec.id));
            assert_eq!(find(spec.name.to_uppercase().as_bytes()).map(|found| found.id), Some(spec.id));
            assert!(find(format!("{}s", spec.name).as_bytes()).is_none(), "{}", spec.name);
        }
        for stranger in ["", "ge", "gets", "client|id", "\0\0\0", "nosuchcommandthatislong"] {
            assert!(find(stranger.as_bytes()).is_none(), "{stranger}");
        }
    }

    #[test]
    fn the_row_of_an_id_is_at_its_number() {
        for (index, spec) in SPECS.iter().enumerate() {
            assert_eq!(spec.id as usize, index);
            assert_eq!(super::spec(spec.id).name, spec.name);
        }
        assert!(SPECS.len() < usize::from(EMPTY));
    }

    #[test]
    fn a_look_up_seldom_probes_twice() {
        let away = commands().filter(|spec| SLOTS[hash(spec.name.as_bytes())] != spec.id as u8).count();
        assert!(away * 5 <= commands().count(), "{away} names are not in their own slot");
    }

    #[test]
    fn sub_commands_belong_to_a_container_in_the_table() {
        for spec in SPECS.iter().filter(|spec| spec.is_sub_command()) {
            let (container, sub) = spec.name.split_once('|').unwrap();
            let container = find(container.as_bytes()).unwrap();
            assert_eq!(find_sub_command(container, sub.to_uppercase().as_bytes()).unwrap().id, spec.id);
        }
    }
}

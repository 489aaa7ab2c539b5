// Do Go's Redis clients, and libraries that use them, work with their defaults? The server's keys are removed.
//
//	PLUMBKV_ADDRESS=127.0.0.1:6379 go test ./...
package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redis/redis_rate/v10"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/gomodule/redigo/redis"
	goredis9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

var background = context.Background()

func address() string {
	if found := os.Getenv("PLUMBKV_ADDRESS"); found != "" {
		return found
	}
	return "127.0.0.1:6379"
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same[T comparable](t *testing.T, found, expected T) {
	t.Helper()
	if found != expected {
		t.Fatalf("%v, expected %v", found, expected)
	}
}

// A client with its defaults, of a server without keys.
func connect(t *testing.T) *goredis9.Client {
	client := goredis9.NewClient(&goredis9.Options{Addr: address()})
	t.Cleanup(func() { _ = client.Close() })
	must(t, client.FlushAll(background).Err())
	return client
}

func TestGoRedisSetsAndGets(t *testing.T) {
	client := connect(t)
	must(t, client.Set(background, "key", "value", time.Minute).Err())
	found, err := client.Get(background, "key").Result()
	must(t, err)
	same(t, found, "value")
	if err := client.Get(background, "nothing").Err(); !errors.Is(err, goredis9.Nil) {
		t.Fatal(err)
	}
	left, err := client.TTL(background, "key").Result()
	must(t, err)
	if left < 50*time.Second || left > time.Minute {
		t.Fatal(left)
	}
}

func TestGoRedisPipelines(t *testing.T) {
	client := connect(t)
	commands, err := client.Pipelined(background, func(pipe goredis9.Pipeliner) error {
		for number := range 10_000 {
			pipe.Set(background, fmt.Sprint("key:", number), strings.Repeat("x", 100), 0)
		}
		return nil
	})
	must(t, err)
	same(t, len(commands), 10_000)
	count, err := client.DBSize(background).Result()
	must(t, err)
	same(t, count, 10_000)
}

func TestGoRedisTxPipelined(t *testing.T) {
	client := connect(t)
	var sum *goredis9.IntCmd
	_, err := client.TxPipelined(background, func(pipe goredis9.Pipeliner) error {
		pipe.Set(background, "a", 1, 0)
		sum = pipe.IncrBy(background, "a", 41)
		return nil
	})
	must(t, err)
	same(t, sum.Val(), 42)
	// An error of one command undoes no other.
	_, err = client.TxPipelined(background, func(pipe goredis9.Pipeliner) error {
		pipe.Set(background, "text", "x", 0)
		pipe.Incr(background, "text")
		pipe.Set(background, "b", 2, 0)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "not an integer") {
		t.Fatal(err)
	}
	same(t, client.Get(background, "b").Val(), "2")
}

// Sixteen clients add to one number, each reading it first.
func TestGoRedisWatch(t *testing.T) {
	client := connect(t)
	const clients, times = 16, 20
	add := func() error {
		for {
			err := client.Watch(background, func(tx *goredis9.Tx) error {
				number, err := tx.Get(background, "n").Int()
				if err != nil && !errors.Is(err, goredis9.Nil) {
					return err
				}
				_, err = tx.TxPipelined(background, func(pipe goredis9.Pipeliner) error {
					pipe.Set(background, "n", number+1, 0)
					return nil
				})
				return err
			}, "n")
			if !errors.Is(err, goredis9.TxFailedErr) {
				return err
			}
		}
	}
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range times {
				if err := add(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	same(t, client.Get(background, "n").Val(), fmt.Sprint(clients*times))
}

func TestGoRedisScripts(t *testing.T) {
	client := connect(t)
	// EVALSHA, and EVAL where the script is not there.
	script := goredis9.NewScript(`redis.call("SET", KEYS[1], ARGV[1]) return {KEYS[1], redis.call("GET", KEYS[1])}`)
	for range 2 {
		found, err := script.Run(background, client, []string{"k"}, "v").StringSlice()
		must(t, err)
		same(t, strings.Join(found, " "), "k v")
	}
}

func TestGoRedisScans(t *testing.T) {
	client := connect(t)
	for number := range 500 {
		must(t, client.Set(background, fmt.Sprint("key:", number), "x", 0).Err())
	}
	seen := map[string]bool{}
	iterator := client.Scan(background, 0, "key:*", 50).Iterator()
	for iterator.Next(background) {
		seen[iterator.Val()] = true
	}
	must(t, iterator.Err())
	same(t, len(seen), 500)
}

func TestRedigoTransactionAndScript(t *testing.T) {
	connect(t)
	conn, err := redis.Dial("tcp", address())
	must(t, err)
	defer func() { _ = conn.Close() }()
	must(t, conn.Send("MULTI"))
	must(t, conn.Send("SET", "a", 1))
	must(t, conn.Send("INCR", "a"))
	found, err := redis.Values(conn.Do("EXEC"))
	must(t, err)
	same(t, fmt.Sprint(found), "[OK 2]")
	sum, err := redis.Int(redis.NewScript(1, `return redis.call("INCRBY", KEYS[1], ARGV[1])`).Do(conn, "a", 40))
	must(t, err)
	same(t, sum, 42)
	// All of a long pipeline is written before the first reply is read.
	for range 20_000 {
		must(t, conn.Send("GET", "a"))
	}
	must(t, conn.Flush())
	for range 20_000 {
		number, err := redis.Int(conn.Receive())
		must(t, err)
		same(t, number, 42)
	}
}

// What one client keeps is forgotten when another one writes.
func TestRueidisClientSideCaching(t *testing.T) {
	writer := connect(t)
	must(t, writer.Set(background, "k", "one", 0).Err())
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address()}})
	must(t, err)
	defer client.Close()
	get := func() (string, bool) {
		reply := client.DoCache(background, client.B().Get().Key("k").Cache(), time.Minute)
		value, err := reply.ToString()
		must(t, err)
		return value, reply.IsCacheHit()
	}
	for place, expected := range []bool{false, true, true} {
		value, isHit := get()
		same(t, value, "one")
		if isHit != expected {
			t.Fatal(place, isHit)
		}
	}
	must(t, writer.Set(background, "k", "two", 0).Err())
	for range 100 {
		if value, _ := get(); value == "two" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the old value stays")
}

func TestRueidis(t *testing.T) {
	connect(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address()}})
	must(t, err)
	defer client.Close()
	must(t, client.Do(background, client.B().Set().Key("k").Value("v").Build()).Error())
	found, err := client.Do(background, client.B().Get().Key("k").Build()).ToString()
	must(t, err)
	same(t, found, "v")
	script := rueidis.NewLuaScript(`return redis.call("GET", KEYS[1])`)
	found, err = script.Exec(background, client, []string{"k"}, nil).ToString()
	must(t, err)
	same(t, found, "v")
	must(t, client.Dedicated(func(one rueidis.DedicatedClient) error {
		replies := one.DoMulti(background,
			one.B().Multi().Build(),
			one.B().Set().Key("k").Value("w").Build(),
			one.B().Exec().Build())
		values, err := replies[2].ToArray()
		if err == nil && len(values) != 1 {
			err = fmt.Errorf("%d replies", len(values))
		}
		return err
	}))
}

func TestRedsync(t *testing.T) {
	client := connect(t)
	mutex := redsync.New(goredis.NewPool(client)).NewMutex("lock")
	must(t, mutex.Lock())
	other := redsync.New(goredis.NewPool(client)).NewMutex("lock", redsync.WithTries(1))
	if err := other.Lock(); err == nil {
		t.Fatal("locked twice")
	}
	extended, err := mutex.Extend()
	must(t, err)
	same(t, extended, true)
	unlocked, err := mutex.Unlock()
	must(t, err)
	same(t, unlocked, true)
	must(t, other.Lock())
}

func TestRedislock(t *testing.T) {
	client := connect(t)
	locker := redislock.New(client)
	lock, err := locker.Obtain(background, "lock", time.Minute, nil)
	must(t, err)
	if _, err := locker.Obtain(background, "lock", time.Minute, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Fatal(err)
	}
	must(t, lock.Refresh(background, time.Hour, nil))
	left, err := lock.TTL(background)
	must(t, err)
	if left < 50*time.Minute {
		t.Fatal(left)
	}
	must(t, lock.Release(background))
}

func TestRedisRate(t *testing.T) {
	client := connect(t)
	limiter := redis_rate.NewLimiter(client)
	allowed := 0
	for range 12 {
		result, err := limiter.Allow(background, "user", redis_rate.PerHour(10))
		must(t, err)
		allowed += result.Allowed
	}
	same(t, allowed, 10)
	must(t, limiter.Reset(background, "user"))
}

// SPDX-License-Identifier: MIT
/*
 * workers REQUESTS [WORKERS]: four workers, or so many, take requests from a queue under one lock, and remember some of the answers
 * under another: blocks are made by one thread and freed by the next, and who holds a lock makes all wait.
 * 0: until SIGTERM. Prints the number of requests and of right answers, and exits 1 if they differ.
 */
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t most_waiting = 1000;

struct request {
    long number;
    std::string text;
};

std::mutex queue_lock;
std::condition_variable has_requests, has_room;
std::deque<std::unique_ptr<request>> waiting;
bool is_over;

std::mutex answers_lock;
std::map<long, std::string> answers;
long n_answered;

volatile std::sig_atomic_t is_ended;

void end(int)
{
    is_ended = 1;
}

std::unique_ptr<request> take()
{
    std::unique_lock<std::mutex> hold(queue_lock);
    has_requests.wait(hold, [] { return is_over || !waiting.empty(); });
    if (waiting.empty())
        return nullptr;
    std::unique_ptr<request> taken = std::move(waiting.front());
    waiting.pop_front();
    has_room.notify_one();
    return taken;
}

void put(long number)
{
    std::unique_lock<std::mutex> hold(queue_lock);
    has_room.wait(hold, [] { return waiting.size() < most_waiting; });
    waiting.push_back(
        std::unique_ptr<request>(new request{number, "request number " + std::to_string(number)}));
    has_requests.notify_one();
}

std::string answer(const request &asked)
{
    std::vector<std::string> words;
    std::string whole;

    for (int i = 0; i < 6; i++)
        words.push_back(asked.text + " part " + std::to_string(i));
    for (const std::string &word : words)
        whole += word;
    return whole;
}

/* Of as many bytes as its parts have. */
bool is_right(const request &asked, const std::string &given)
{
    const std::string begin = "request number " + std::to_string(asked.number) + " part 0";

    return given.size() == 6 * begin.size() && given.compare(0, begin.size(), begin) == 0;
}

void work()
{
    while (std::unique_ptr<request> asked = take()) {
        std::string given = answer(*asked);
        const bool right = is_right(*asked, given);
        std::lock_guard<std::mutex> hold(answers_lock);
        n_answered += right;
        answers[asked->number % 5000] = std::move(given);
    }
}

}  // namespace

int main(int argc, char **argv)
{
    const long n_requests = argc > 1 ? std::atol(argv[1]) : 100000;
    const long n_workers = argc > 2 ? std::atol(argv[2]) : 4;
    std::vector<std::thread> workers;
    long n_made = 0;

    for (long i = 0; i < n_workers; i++)
        workers.emplace_back(work);
    if (n_requests == 0)
        std::signal(SIGTERM, end);
    for (; n_requests == 0 ? !is_ended : n_made < n_requests; n_made++)
        put(n_made);
    {
        std::lock_guard<std::mutex> hold(queue_lock);
        is_over = true;
    }
    has_requests.notify_all();
    for (std::thread &worker : workers)
        worker.join();
    if (n_requests)
        std::printf("%zu\n", answers.size());
    else
        std::printf("%ld requests, %ld answered\n", n_made, n_answered);
    return n_made == n_answered ? 0 : 1;
}

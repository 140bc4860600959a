// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let asyncAlgorithms = Target.Dependency.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")
let collections = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let orderedCollections = Target.Dependency.product(name: "OrderedCollections", package: "swift-collections")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdHTTP2 = Target.Dependency.product(name: "HummingbirdHTTP2", package: "hummingbird")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let jwtKit = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")

/// Optimized in debug builds too: the tests then take half as long.
let optimized = settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// A module of the common library.
func shared(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/\(name)", exclude: exclude, swiftSettings: optimized)
}

/// Whether the decoders are built under libFuzzer: see Tests/Fuzz/README.md.
let isFuzzing = Context.environment["FUZZ"] != nil

/// An executable: a folder below `Services` with a README beside its sources.
func service(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    let dependencies =
        ["Bus", "MQTT", "ServiceKit", "Timing", "Workouts", argumentParser, lifecycle, logging, metrics] + dependencies
    let path = "Services/\(name)"
    let exclude = ["README.md"] + exclude
    guard isFuzzing else {
        return .executableTarget(
            name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: optimized)
    }
    // Only tests link executables. `main` is libFuzzer's.
    let renamed = SwiftSetting.unsafeFlags(["-Xfrontend", "-entry-point-function-name", "-Xfrontend", "\(name)_main"])
    return .target(
        name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: optimized + [renamed])
}

/// The tests of one module or service.
func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies + ["TestSupport"], path: "Tests/\(name)Tests",
        exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "pacebus",
    products: [
        .executable(name: "session-engine", targets: ["SessionEngine"]),
        .executable(name: "metrics-aggregator", targets: ["MetricsAggregator"]),
        .executable(name: "route-builder", targets: ["RouteBuilder"]),
        .executable(name: "weather-fetcher", targets: ["WeatherFetcher"]),
        .executable(name: "live-activity-publisher", targets: ["LiveActivityPublisher"]),
        .executable(name: "exporter", targets: ["Exporter"]),
        .executable(name: "virtual-run", targets: ["VirtualRun"]),
        .executable(name: "importer", targets: ["Importer"]),
        .executable(name: "dashboard", targets: ["Dashboard"]),
        .executable(name: "device", targets: ["Device"]),
        .executable(name: "pacebus", targets: ["Pacebus"]),
    ],
    // Exact: a later version comes with a change of this file and passes the tests with it. Package.resolved is not committed: it
    // would also hold indirect dependencies back, whose fixes are to arrive within the ranges that these packages accept.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    ],
    targets: [
        .systemLibrary(
            name: "CMosquitto", path: "Shared/CMosquitto", pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev"])]),
        // Without pkgConfig, which would link libpq.
        .systemLibrary(name: "CPostgres", path: "Shared/CPostgres", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CMalloc", path: "Shared/CMalloc"),
        .systemLibrary(name: "CZlib", path: "Shared/CZlib", providers: [.apt(["zlib1g-dev"])]),
        shared("Timing"),
        shared("MQTT", ["CMosquitto", "Timing", collections, coreMetrics, lifecycle, logging, metrics]),
        shared("Workouts"),
        shared(
            "Bus", ["MQTT", "Workouts"],
            exclude: ["Apps.md", "Plans.md", "README.md", "asyncapi.yaml", "examples"]),
        shared("Storage", ["CPostgres", "Workouts", grdb]),
        shared(
            "ServiceKit",
            [
                "Bus", "CMalloc", "MQTT", "Storage", "Timing", "Workouts", argumentParser, asyncAlgorithms, coreMetrics,
                httpTypes, hummingbird, hummingbirdCore,
                lifecycle, nioCore, nioSSL, unixSignals, logging, metrics,
            ]),
        shared(
            "Streams",
            [
                "Bus", "MQTT", "ServiceKit", "Storage", "Timing", "Workouts", argumentParser, lifecycle, logging,
                metrics, collections, orderedCollections,
            ]),
        shared("FIT"),
        shared("Formats", ["CZlib", "FIT", "Workouts"]),
        shared(
            "Client",
            [
                "Bus", "Formats", "MQTT", "ServiceKit", "Timing", "Workouts", argumentParser, asyncAlgorithms,
                collections, lifecycle,
            ]),
        shared(
            "TestSupport",
            [
                "Bus", "Client", "FIT", "Formats", "MQTT", "Storage", "Streams", "Workouts", "ServiceKit", logging,
                lifecycle,
            ],
            exclude: [
                "apns_server.py", "bests_summary.py", "fit_summary.py", "track_summary.py", "upload_server.py",
                "weather_server.py",
            ]),

        service("SessionEngine", ["Storage", asyncAlgorithms]),
        service("MetricsAggregator", ["Streams"]),
        service("RouteBuilder", ["Streams"]),
        service("WeatherFetcher", ["Storage", asyncHTTPClient, jwtKit, nioCore, nioHTTP1]),
        service(
            "LiveActivityPublisher", ["Storage", asyncHTTPClient, jwtKit, nioCore, nioHTTP1, nioSSL]),
        service("Exporter", ["Client", "Formats", "Storage", asyncHTTPClient, nioCore, nioHTTP1]),
        service("VirtualRun", ["Client", "Storage"]),
        service("Importer", ["Client", "Formats", "Storage", crypto]),
        service(
            "Dashboard",
            [
                collections, crypto, httpTypes, hummingbird, hummingbirdCore, hummingbirdHTTP2, nioCore, nioHTTP1,
                nioHTTPTypes, nioHTTPTypesHTTP1, nioPosix, nioSSL, nioTLS, nioWebSocket,
            ],
            exclude: ["Web"]),
        service("Device", ["Client", "Formats"]),
        service("Pacebus", ["Client", "Formats", "Storage"], exclude: ["Plans"]),

        tests("Documents", ["ServiceKit"]),
        tests("Timing", ["Timing", "Workouts"]),
        tests("MQTT", ["MQTT", "Timing", logging, lifecycle]),
        tests("Workouts", ["Workouts", "FIT"]),
        tests("Bus", ["Bus", "MQTT", "Workouts"], exclude: ["asyncapi_check.py", "device_cases.py"]),
        tests("Storage", ["Storage", grdb]),
        tests(
            "ServiceKit",
            [
                "ServiceKit", "Bus", "MQTT", "Storage", "Workouts", argumentParser, coreMetrics, lifecycle, logging,
                nioSSL,
            ]),
        tests("FIT", ["FIT"]),
        tests("Client", ["Client", "Bus", "FIT", "Formats", "MQTT", "ServiceKit", "Workouts"]),
        tests("Formats", ["Formats", "Bus", "FIT", "Streams", "Workouts"]),
        tests(
            "SessionEngine",
            ["SessionEngine", "Bus", "MetricsAggregator", "MQTT", "Storage", "Streams", "Workouts", logging]),
        tests("Importer", ["Importer", "Bus", "Client", "MQTT", "ServiceKit", "Storage", "Workouts"]),
        tests("VirtualRun", ["VirtualRun", "Bus", "Client", "MQTT", "ServiceKit", "Storage", "Workouts", logging]),
        tests(
            "Streams",
            ["Streams", "Bus", "Client", "MetricsAggregator", "MQTT", "RouteBuilder", "Storage", "Workouts", logging]),
        tests("RouteBuilder", ["RouteBuilder", "Bus", "MQTT", "Streams", "Workouts"]),
        tests(
            "MetricsAggregator",
            ["MetricsAggregator", "Bus", "MQTT", "Streams", "Workouts"]),
        tests(
            "WeatherFetcher",
            [
                "WeatherFetcher", "Bus", "MQTT", "ServiceKit", "Storage", "Workouts", argumentParser, asyncHTTPClient,
                jwtKit, logging,
            ],
            exclude: ["Providers/weatherkit_key.py"]),
        tests(
            "LiveActivityPublisher",
            [
                "LiveActivityPublisher", "Bus", "MQTT", "ServiceKit", "Storage", "Workouts", argumentParser,
                asyncHTTPClient, jwtKit, nioHTTP1, nioSSL,
            ]),
        tests(
            "Exporter",
            [
                "Exporter", "Bus", "Client", "Formats", "MQTT", "ServiceKit", "Storage", "Workouts", argumentParser,
                asyncHTTPClient, lifecycle, logging,
            ]),
        tests(
            "Dashboard",
            [
                "Dashboard", "Bus", "MQTT", "ServiceKit", "Workouts", argumentParser, crypto, httpTypes, hummingbird,
                hummingbirdCore, lifecycle, logging, nioCore, nioEmbedded, nioHTTPTypes, nioTLS, nioWebSocket,
            ],
            exclude: ["browser", "modules"]),
        tests("Device", ["Device", "Bus", "Client", "Formats", "MQTT", "ServiceKit", "Workouts", argumentParser]),
        tests(
            "Pacebus",
            ["Pacebus", "Bus", "Client", "Formats", "MQTT", "ServiceKit", "Workouts", argumentParser, lifecycle]),
        tests(
            "OwningService",
            [
                "Bus", "Exporter", "Formats", "Importer", "LiveActivityPublisher", "MetricsAggregator", "MQTT",
                "RouteBuilder",
                "ServiceKit", "SessionEngine", "Storage", "Streams", "VirtualRun", "WeatherFetcher",
                "Workouts",
            ]),
        tests(
            "Integration",
            [
                "Bus", "Client", "Dashboard", "Device", "Exporter", "FIT", "Formats", "MetricsAggregator", "MQTT",
                "RouteBuilder",
                "ServiceKit", "SessionEngine", "Storage", "Streams", "WeatherFetcher", "Workouts",
                lifecycle, logging,
            ],
            exclude: [
                "broker_plugin.py", "coach_page.py", "container.py", "dashboard_bus.py", "dashboard_page.py",
                "kubernetes_check.py",
                "pairing.py", "readme_page.py", "releases", "websocket_client.py",
            ]),
    ]
)

// The readers of foreign and of stored bytes: under libFuzzer, or else in a test of the committed inputs. See
// Tests/Fuzz/README.md.
let fuzzed: [Target.Dependency] = [
    "Bus", "Client", "Dashboard", "Exporter", "FIT", "Formats", "Importer", "LiveActivityPublisher", "MQTT", "Pacebus",
    "ServiceKit", "SessionEngine", "Storage", "Streams", "VirtualRun", "WeatherFetcher", "Workouts", httpTypes, logging,
    nioCore, nioHTTP1,
]
let fuzzFiles = [
    "README.md", "corpus", "keys.dict", "seed_files.py", "seed_payloads.py", "seed_records.py", "seed_values.py",
    "seeds.py", "fuzz.sh",
]
if isFuzzing {
    package.products = []
    package.targets.append(
        .executableTarget(
            name: "Fuzz", dependencies: fuzzed, path: "Tests/Fuzz", exclude: fuzzFiles + ["CorpusTests.swift"],
            swiftSettings: settings))
} else {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed, path: "Tests/Fuzz", exclude: fuzzFiles + ["Fuzz.swift"],
            swiftSettings: settings))
}

/** `echo.foo:9000`, a service of raw TCP in a lab. */
export const RAW_SERVICE = `---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: foo}
spec: {selector: {app: echo}, ports: [{name: tcp-echo, port: 9000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo, namespace: foo}
spec:
  replicas: 1
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: echo, image: httpbin, args: [--tcp-port, '9000']}]}
`;
